//! A file of the same name with other content.

use std::time::Duration;

use pve_lab::{CallFault, Place, TaskFault};
use serde_json::json;

use crate::controller::compressed;
use crate::support::{also, bench, bytes, files, local, published, sum, sum512};

#[test]
fn b46_the_old_file_is_there_when_the_new_one_cannot_be_had() {
    let image = bytes(7, 4000);
    for (what, place) in [
        ("404", Place::Status("404 Not Found".into())),
        ("wrong content", Place::File(bytes(8, 4000))),
        ("truncated", Place::Truncated(image.clone(), 1000)),
    ] {
        let bench = bench();
        let (_origin, task) = published(place, &image);
        let task = also(&task, json!({"name": "own.raw", "replace": true, "verify": true}));
        bench.lab.put_file("pve1", "local:import/own.raw", b"old");
        bench.module(task).run().failed();
        let there = bench.lab.file("pve1", "local:import/own.raw");
        assert_eq!(std::fs::read(there).unwrap(), b"old", "{what}");
        assert_eq!(files(&bench), ["import/own.raw"], "{what}");
    }
}

#[test]
fn b46_a_download_is_proven_before_the_old_file_goes() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let task = also(&task, json!({"name": "own.raw", "replace": true}));
    bench.lab.put_file("pve1", "local:import/own.raw", b"old");
    let outcome = bench.module(task.clone()).run();
    assert_eq!(outcome.plan(), ["replace local:import/own.raw on pve1 by download"]);
    let there = bench.lab.file("pve1", "local:import/own.raw");
    assert_eq!(std::fs::read(there).unwrap(), image);
    assert_eq!(files(&bench), ["import/own.raw"]);
    let writes = bench.writes();
    let kinds: Vec<&str> = writes.iter().map(|write| write.split(' ').next().unwrap()).collect();
    assert_eq!(kinds, ["POST", "DELETE", "POST", "DELETE"], "{writes:?}");
    assert!(!bench.module(task).run().changed());
}

#[test]
fn when_the_second_download_fails_the_new_file_is_named_and_the_next_run_finishes() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let task = also(&task, json!({"name": "own.raw", "replace": true}));
    bench.lab.put_file("pve1", "local:import/own.raw", b"old");
    // the first download of the file itself, not that under the temporary name
    bench.lab.fail_tasks("imgdel", 1, TaskFault::Warn(vec!["slow".into()]));
    bench.lab.fail_calls(
        "DELETE",
        "own.raw",
        1,
        CallFault::Proxy { status: 595, reason: "No route to host".into(), done: true },
    );
    let lost = bench.module(task.clone()).run();
    // the answer was lost: what was done is looked at, and the rest is done
    lost.ok();
    let there = bench.lab.file("pve1", "local:import/own.raw");
    assert_eq!(std::fs::read(there).unwrap(), image);
    bench.module(task.clone()).run().ok();
    assert_eq!(files(&bench), ["import/own.raw"]);
    assert!(!bench.module(task).run().changed());
}

#[test]
fn b45_an_upload_replaces_only_when_asked_and_only_when_it_is_right() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(9, 5000);
    let src = local(&folder, "x.raw", &image);
    bench.lab.put_file("pve1", "local:import/own.raw", b"old");
    let there = bench.lab.file("pve1", "local:import/own.raw");
    let task = json!({"storage": "local", "src": src, "name": "own.raw", "replace": true});
    bench.lab.fail_tasks(
        "imgcopy",
        1,
        TaskFault::Fail("checksum mismatch: got 'a' != expect 'b'".into()),
    );
    let failed = bench.module(task.clone()).run();
    assert!(failed.failed().contains("checksum mismatch"), "{}", failed.failed());
    assert_eq!(std::fs::read(&there).unwrap(), b"old");
    let done = bench.module(task.clone()).run();
    assert_eq!(done.plan(), ["replace local:import/own.raw on pve1 by upload"]);
    assert_eq!(std::fs::read(&there).unwrap(), image);
    assert!(!bench.module(task).run().changed());
    assert_eq!(bench.lab.spooled(), 0);
}

#[test]
fn a_file_that_a_machine_uses_is_not_replaced() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    bench.lab.put_file("pve1", "local:iso/own.iso", b"old");
    bench.make(101, "web", &[("ide2", "local:iso/own.iso,media=cdrom")]);
    let task = also(&task, json!({"name": "own.iso", "content": "iso", "replace": true}));
    bench.forget();
    let failed = bench.module(task).run();
    let message = failed.failed();
    assert!(message.contains("local:iso/own.iso is used by vm 101 on pve1 (ide2)"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn b45_verify_knows_other_content_of_the_same_size() {
    let folder = tempfile::tempdir().unwrap();
    let image = bytes(9, 5000);
    let (_origin, url) = published(Place::File(image.clone()), &image);
    let src = local(&folder, "x.raw", &image);
    let packed = local(&folder, "x.raw.gz", &compressed("gzip", &image));
    for (what, task) in [
        ("url", url.clone()),
        ("url, sha512", also(&url, json!({"checksum": sum512(&image)}))),
        ("src", json!({"storage": "local", "src": src})),
        ("src, gz", json!({"storage": "local", "src": packed})),
        (
            "by the control node",
            json!({"storage": "local", "src": url["url"], "via": "controller", "checksum": sum(&image)}),
        ),
    ] {
        let bench = bench();
        let task = also(&task, json!({"name": "own.raw"}));
        assert!(bench.module(task.clone()).run().changed(), "{what}");
        let task = also(&task, json!({"verify": true}));
        bench.forget();
        let same = bench.module(task.clone()).run();
        assert!(!same.changed() && same.warnings().is_empty(), "{what}: {}", same.stdout);
        // the node looks at what it has: nothing is transferred
        assert_eq!(bench.writes(), ["POST /nodes/pve1/storage/local/download-url"], "{what}");
        bench.lab.put_file("pve1", "local:import/own.raw", &bytes(8, 5000));
        let other = bench.module(task.clone()).run();
        let message = other.failed();
        for text in
            ["is there with other content: on pve1", "checksum mismatch: got '", "set replace"]
        {
            assert!(message.contains(text), "{what}: {message}");
        }
        assert_eq!(files(&bench), ["import/own.raw"], "{what}");
        let task = also(&task, json!({"replace": true}));
        assert!(bench.module(task.clone()).run().changed(), "{what}");
        let there = bench.lab.file("pve1", "local:import/own.raw");
        assert_eq!(std::fs::read(there).unwrap(), image, "{what}");
        assert!(!bench.module(task).run().changed(), "{what}");
        assert_eq!(files(&bench), ["import/own.raw"], "{what}");
    }
}

#[test]
fn what_verify_finds_to_be_another_is_not_replaced_under_a_machine() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    bench.lab.put_file("pve1", "local:iso/own.iso", &bytes(8, 4000));
    bench.make(101, "web", &[("ide2", "local:iso/own.iso,media=cdrom")]);
    let task =
        also(&task, json!({"name": "own.iso", "content": "iso", "replace": true, "verify": true}));
    let failed = bench.module(task).run();
    let message = failed.failed();
    assert!(message.contains("local:iso/own.iso is used by vm 101 on pve1 (ide2)"), "{message}");
    let there = bench.lab.file("pve1", "local:iso/own.iso");
    assert_eq!(std::fs::read(there).unwrap(), bytes(8, 4000));
}

#[test]
fn verify_needs_no_source_that_answers() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (origin, task) = published(Place::File(image.clone()), &image);
    assert!(bench.module(task.clone()).run().changed());
    origin.put("/x.raw", Place::Status("404 Not Found".into()));
    assert!(!bench.module(also(&task, json!({"verify": true}))).run().changed());
}

#[test]
fn verify_of_an_address_needs_what_its_download_needed() {
    let image = bytes(7, 4000);
    let storage: &[&str] = &["Datastore.Audit", "Datastore.AllocateTemplate"];
    let node: &[&str] = &["Sys.AccessNetwork"];
    for (name, storage, node, lacking) in [
        ("all", storage, node, None),
        ("nofetch", storage, &["Sys.Audit"][..], Some("lacks Sys.AccessNetwork on /nodes/pve1")),
        (
            "nostore",
            &storage[..1],
            node,
            Some("lacks Datastore.AllocateTemplate on /storage/local"),
        ),
    ] {
        let bench = bench();
        let (_origin, task) = published(Place::File(image.clone()), &image);
        assert!(bench.module(task.clone()).run().changed());
        let token = bench.token(name, &[("/storage/local", storage), ("/nodes/pve1", node)]);
        bench.forget();
        let outcome = bench.module(also(&task, json!({"verify": true}))).args(token).run();
        match lacking {
            None => assert!(!outcome.changed() && outcome.warnings().is_empty()),
            Some(text) => {
                assert!(outcome.failed().contains(text), "{}", outcome.failed());
                assert_eq!(bench.writes(), [""; 0]);
            }
        }
    }
}

#[test]
fn a_file_that_another_run_brought_meanwhile_is_not_removed() {
    let bench = bench();
    let image = bytes(7, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let task = also(&task, json!({"name": "own.raw"}));
    bench.lab.fail_tasks("download", 1, TaskFault::Slow(Duration::from_secs(2)));
    let failed = std::thread::scope(|scope| {
        let run = scope.spawn(|| bench.module(task).run());
        while bench.writes().is_empty() {
            std::thread::yield_now();
        }
        bench.lab.put_file("pve1", "local:import/own.raw", b"another's");
        run.join().unwrap()
    });
    assert!(failed.failed().contains("checksum mismatch: got '"), "{}", failed.failed());
    assert_eq!(files(&bench), ["import/own.raw"]);
}

#[test]
fn verify_by_upload_leaves_nothing() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(9, 5000);
    let src = local(&folder, "x.raw", &image);
    let task = json!({"storage": "local", "src": src, "name": "own.raw", "checksum": sum(&image)});
    assert!(bench.module(task.clone()).run().changed());
    bench.forget();
    // a token that may upload and remove, and let nothing be fetched
    let privileges = ["Datastore.Audit", "Datastore.AllocateTemplate", "Datastore.Allocate"];
    let task = also(&task, bench.token("uploader", &[("/storage/local", &privileges)]));
    let proven = bench.module(also(&task, json!({"verify": true}))).run();
    assert!(!proven.changed());
    let warning = &proven.warnings()[0];
    assert!(warning.contains("takes Sys.AccessNetwork on the node"), "{warning}");
    let writes = bench.writes();
    assert_eq!(writes.len(), 2, "{writes:?}");
    assert!(writes[1].contains("ferrite-tmp-"), "{writes:?}");
    assert_eq!(files(&bench), ["import/own.raw"]);
    // in check mode nothing is transferred
    bench.forget();
    let check = bench.module(also(&task, json!({"verify": true}))).check().run();
    assert!(check.warnings()[0].contains("nothing is transferred in check mode"));
    assert_eq!(bench.writes(), [""; 0]);
    // temporary even when the transfer fails
    bench.lab.fail_tasks("imgcopy", 1, TaskFault::Fail("no space left on device".into()));
    let failed = bench.module(also(&task, json!({"verify": true}))).run();
    assert!(failed.failed().contains("failed to verify local:import/own.raw on pve1"));
    assert_eq!(files(&bench), ["import/own.raw"]);
}
