//! Files that a node fetches.

use std::time::Duration;

use harness::check_apply_again;
use pve_lab::{LabConfig, Place};
use serde_json::json;

use crate::support::{also, bench, bytes, files, named, published, sum, with};

#[test]
fn a_node_fetches_what_is_pinned() {
    let bench = bench();
    let image = bytes(2, 200_000);
    let (origin, task) = published(Place::File(image.clone()), &image);
    let name = named("x", &image, ".raw");
    let volid = format!("local:import/{name}");
    let cycle = check_apply_again(&bench.module(task), || files(&bench));
    assert_eq!(cycle.check.plan(), [format!("download {volid} to pve1")]);
    assert_eq!(std::fs::read(bench.lab.file("pve1", &volid)).unwrap(), image);
    let row = &cycle.real.ok()["images"][0];
    assert_eq!((&row["size"], &row["sent"]), (&json!(200_000), &json!(0)));
    assert_eq!(row["checksum"], sum(&image));
    let gets = origin.seen().iter().filter(|seen| seen.starts_with("GET")).count();
    assert_eq!(gets, 1, "{:?}", origin.seen());
}

#[test]
fn a_second_run_of_a_name_that_says_the_content_asks_nobody() {
    let bench = bench();
    let image = bytes(2, 1000);
    let (origin, task) = published(Place::File(image.clone()), &image);
    assert!(bench.module(task.clone()).run().changed());
    let before = origin.seen().len();
    // it may even be gone by then
    origin.put("/x.raw", Place::Status("404 Not Found".into()));
    assert!(!bench.module(task).run().changed());
    assert_eq!(origin.seen().len(), before);
}

#[test]
fn every_bad_answer_leaves_the_storage_as_it_was() {
    let image = bytes(3, 100_000);
    for (what, place, text) in [
        ("wrong content", Place::File(bytes(4, 100_000)), "checksum mismatch: got"),
        ("404", Place::Status("404 Not Found".into()), "does not find http://127.0.0.1"),
        ("500", Place::Status("500 Oops".into()), "500 Oops"),
        ("truncated", Place::Truncated(image.clone(), 5000), "Connection closed at byte 5000"),
        ("redirected nowhere", Place::Redirect("/gone".into()), "404 Not Found"),
    ] {
        let bench = bench();
        bench.lab.put_file("pve1", "local:import/other.raw", b"other");
        let (_origin, task) = published(place, &image);
        let outcome = bench.module(task).run();
        let message = outcome.failed();
        assert!(message.contains(text), "{what}: {message}");
        assert_eq!(files(&bench), ["import/other.raw"], "{what}");
        assert_eq!(outcome.result["changed"], false, "{what}");
    }
}

#[test]
fn unusual_answers_that_are_right_are_taken() {
    let image = bytes(3, 100_000);
    let slow = Place::Slow(image.clone(), 20_000, Duration::from_millis(300));
    for (what, place) in [
        ("redirected", Place::Redirect("/there.raw".into())),
        ("without its size", Place::Unsized(image.clone())),
        ("without HEAD", Place::NoHead(image.clone())),
        ("b44 slow, but going on", slow),
    ] {
        let bench = bench();
        let (origin, task) = published(place, &image);
        origin.put("/there.raw", Place::File(image.clone()));
        let task = also(&task, json!({"stall_timeout": 1}));
        assert!(bench.module(task).run().changed(), "{what}");
        let name = named("x", &image, ".raw");
        let stored = bench.lab.file("pve1", &format!("local:import/{name}"));
        assert_eq!(std::fs::read(stored).unwrap(), image, "{what}");
    }
}

#[test]
fn b36_a_node_decompresses_only_what_it_can() {
    let bench = bench();
    let (origin, task) = published(Place::File(b"x".to_vec()), b"x");
    let task = also(&task, json!({"url": origin.url("/x.raw.xz")}));
    let failed = bench.module(task).run();
    let message = failed.failed();
    assert!(
        message.contains("content import in xz: set via=controller, and the control node fetches"),
        "{message}"
    );
    assert!(bench.calls().is_empty() && origin.seen().is_empty());
}

#[test]
fn each_node_gets_a_copy_of_its_own_and_a_shared_storage_one() {
    let bench = with(LabConfig { nodes: 3, ..LabConfig::default() });
    bench.lab.separate("local");
    let image = bytes(5, 5000);
    let (origin, task) = published(Place::File(image.clone()), &image);
    let name = format!("import/{}", named("x", &image, ".raw"));
    let on = |bench: &pve_lab::Bench, node: &str| bench.lab.files(node, "local");
    let one = bench.module(also(&task, json!({"nodes": ["pve2"]}))).run();
    assert_eq!(one.plan(), [format!("download local:{name} to pve2")]);
    assert!(on(&bench, "pve1").is_empty() && on(&bench, "pve2").contains_key(&name));
    bench.lab.set_offline("pve3", true);
    let rest = bench.module(task.clone()).run();
    assert_eq!(rest.plan(), [format!("download local:{name} to pve1")]);
    assert_eq!(rest.warnings(), ["node pve3 is offline and was passed over"]);
    assert_eq!(rest.ok()["images"].as_array().unwrap().len(), 2);
    assert_eq!(rest.result["nodes"], json!(["pve1", "pve2"]));
    let failed = bench.module(also(&task, json!({"nodes": ["pve3", "pve9"]}))).run();
    let message = failed.failed();
    assert!(
        message.contains("node pve3 is offline; there is no node pve9: the cluster has pve1, pve2"),
        "{message}"
    );
    // shared: once, wherever it is seen from
    bench.post(
        "/storage",
        &[
            ("storage", "nfs"),
            ("type", "dir"),
            ("path", "/srv"),
            ("shared", "1"),
            ("content", "import"),
        ],
    );
    let before = origin.seen().len();
    let shared = also(&task, json!({"storage": "nfs"}));
    assert_eq!(bench.module(shared.clone()).run().plan().len(), 1);
    assert!(!bench.module(shared).run().changed());
    let gets = origin.seen()[before..].iter().filter(|seen| seen.starts_with("GET")).count();
    assert_eq!(gets, 1);
}

#[test]
fn a_size_that_nobody_says_is_warned_of_and_verify_proves() {
    let bench = bench();
    let image = bytes(6, 4000);
    let (_origin, task) = published(Place::Unsized(image.clone()), &image);
    let task = also(&task, json!({"name": "own.raw"}));
    assert!(bench.module(task.clone()).run().changed());
    let again = bench.module(task.clone()).run();
    assert!(!again.changed());
    assert!(again.warnings()[0].contains("not known; verify proves it"), "{:?}", again.warnings());
    let proven = bench.module(also(&task, json!({"verify": true}))).run();
    assert!(!proven.changed());
    assert_eq!((proven.warnings().len(), files(&bench)), (0, vec!["import/own.raw".to_owned()]));
    bench.lab.put_file("pve1", "local:import/own.raw", &[0; 3999]);
    let other = bench.module(also(&task, json!({"verify": true}))).run();
    let message = other.failed();
    assert!(message.contains(&format!("it has other content than {}: ", sum(&image))), "{message}");
    // without a checksum there is nothing that the node could be asked for
    let blind = json!({"verify": true, "checksum": null, "allow_unverified": true});
    let other = bench.module(also(&task, blind)).run();
    let message = other.failed();
    assert!(message.contains("it has 3999 bytes, and a fresh transfer has 4000"), "{message}");
    assert_eq!(files(&bench), ["import/own.raw"], "the temporary file is gone");
}

#[test]
fn an_entry_of_the_catalog_is_checked_before_anyone_is_asked() {
    let bench = bench();
    let entry = json!({"publisher": "ubuntu", "release": "noble", "checksum": sum(b"x")});
    for (more, text) in [
        (json!({"serial": 20_251_113, "arch": "s390"}), "catalog: arch: 's390' is none of amd64"),
        (json!({"serial": "current"}), "catalog: serial: 'current' is no dated build"),
        (json!({"serial": "20251113", "codename": "noble"}), "codename"),
        (json!({"serial": "20251113", "publisher": "arch"}), "publisher"),
    ] {
        let task = json!({"storage": "local", "catalog": also(&entry, more)});
        let failed = bench.module(task).run();
        assert!(failed.failed().contains(text), "{}", failed.failed());
    }
    assert!(bench.calls().is_empty(), "{:?}", bench.calls());
}

#[test]
fn an_entry_of_the_catalog_comes_from_its_mirror() {
    let bench = bench();
    let image = bytes(5, 50_000);
    let (origin, _) = published(Place::Status("404 Not Found".into()), &image);
    let file = "noble/release-20251113/ubuntu-24.04-server-cloudimg-amd64.img";
    origin.put(&format!("/{file}"), Place::File(image.clone()));
    let entry = json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113",
        "mirror": origin.url(""), "checksum": sum(&image)});
    let task = json!({"storage": "local", "catalog": entry});
    let name = named("ubuntu-24.04-server-cloudimg-amd64-20251113", &image, ".qcow2");
    let cycle = check_apply_again(&bench.module(task), || files(&bench));
    assert_eq!(cycle.check.plan(), [format!("download local:import/{name} to pve1")]);
    let volid = format!("local:import/{name}");
    assert_eq!(std::fs::read(bench.lab.file("pve1", &volid)).unwrap(), image);
}

#[test]
fn a_password_in_an_address_is_shown_nowhere() {
    let (origin, task) = published(Place::Status("404 Not Found".into()), b"x");
    let url = origin.url("/x.raw").replace("http://", "http://user:hush-hush@");
    for options in [
        json!({"url": url}),
        json!({"url": url, "via": "controller"}),
        json!({"url": format!("{url}.xz")}),
        json!({"url": url.replace("http:", "gopher:")}),
    ] {
        let bench = bench();
        let outcome = bench.module(also(&task, options)).run();
        assert!(!outcome.failed().is_empty());
        outcome.hides("hush-hush");
    }
    // what no address is may be one with a password all the same
    for (url, option) in [
        ("http://user:hush-hush/x@h/x.raw", "url"),
        ("http://user:hush-hush?x@h/x.raw", "url"),
        ("http://user:hush-hush#x@h/x.raw", "url"),
        ("http://user:hush-hush@/x.raw", "url"),
        ("http://user:hush-hush@h/ x.raw", "url"),
        ("http://user:hush-hush@h/x.raw", "src"),
        ("http://user:hush-hush/x@h/x.raw", "src"),
        ("ftp://user:hush-hush@h/x.raw", "src"),
    ] {
        let bench = bench();
        let mut task = also(&task, json!({option: url}));
        if option == "src" {
            task.as_object_mut().unwrap().remove("url");
        }
        let outcome = bench.module(task).run();
        assert!(!outcome.failed().is_empty(), "{url}");
        outcome.hides("hush-hush");
        assert!(bench.calls().is_empty(), "{url}");
    }
    let mirror = origin.url("").replace("http://", "http://user:hush-hush@");
    let entry = json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113",
        "mirror": mirror, "checksum": sum(b"x")});
    for via in ["node", "controller"] {
        let bench = bench();
        let task = json!({"storage": "local", "catalog": entry, "via": via});
        let outcome = bench.module(task).run();
        assert!(!outcome.failed().is_empty());
        outcome.hides("hush-hush");
    }
    let bench = bench();
    origin.put("/x.raw", Place::File(b"x".to_vec()));
    let done = bench.module(also(&task, json!({"url": url}))).run();
    assert!(done.changed());
    done.hides("hush-hush");
}
