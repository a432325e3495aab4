//! A file of the same name with other content.

use pve_lab::{CallFault, Place, TaskFault};
use serde_json::json;

use crate::support::{also, bench, bytes, files, local, published, sum};

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
fn verify_by_upload_leaves_nothing() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(9, 5000);
    let src = local(&folder, "x.raw", &image);
    let task = json!({"storage": "local", "src": src, "name": "own.raw", "checksum": sum(&image)});
    assert!(bench.module(task.clone()).run().changed());
    bench.forget();
    let proven = bench.module(also(&task, json!({"verify": true}))).run();
    assert!(!proven.changed());
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
