//! What stands against a task is found before anything is written, all of it at once.

use pve_lab::Place;
use serde_json::json;

use crate::support::{also, bench, bytes, files, local, published};

#[test]
fn b37_a_storage_that_does_not_hold_the_content_is_named_with_its_list() {
    let bench = bench();
    bench.post(
        "/storage",
        &[("storage", "old"), ("type", "dir"), ("path", "/srv"), ("content", "iso,vztmpl,backup")],
    );
    bench.forget();
    let image = bytes(1, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let failed = bench.module(also(&task, json!({"storage": "old"}))).run();
    let message = failed.failed();
    assert!(
        message.contains(
            "storage old does not hold content import: its list is iso,vztmpl,backup; add import to \
             it, for example with pve_storage_content"
        ),
        "{message}"
    );
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn all_problems_are_told_at_once_each_with_its_remedy() {
    let bench = bench();
    bench.post(
        "/storage",
        &[("storage", "old"), ("type", "dir"), ("path", "/srv"), ("content", "iso")],
    );
    bench.lab.set_free("old", 100);
    bench.forget();
    let image = bytes(1, 4000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let token = bench.token("poor", &[("/storage/old", &["Datastore.Audit"])]);
    let failed = bench.module(also(&task, json!({"storage": "old"}))).args(token).run();
    let message = failed.failed();
    for text in [
        "before anything was changed, 3 problems were found",
        "storage old does not hold content import",
        "token 'poor@pve!t' lacks Datastore.AllocateTemplate on /storage/old",
        "lacks Sys.AccessNetwork on /nodes/pve1",
        "Sys.Audit with Sys.Modify on / would do as well",
        "with via=controller none of them is needed",
    ] {
        assert!(message.contains(text), "{text}: {message}");
    }
    assert_eq!(failed.result["problems"].as_array().map(Vec::len), Some(3));
    assert_eq!(bench.writes(), [""; 0]);
    // of an upload the size is known to everyone
    let folder = tempfile::tempdir().unwrap();
    let src = local(&folder, "x.raw", &image);
    let failed = bench.module(json!({"storage": "old", "src": src})).run();
    let message = failed.failed();
    assert!(
        message.contains("storage old has 100 bytes free on pve1, and 4000 are needed"),
        "{message}"
    );
    assert_eq!((bench.writes(), files(&bench)), (vec![], vec![]));
}

#[test]
fn storages_that_cannot_be_used_are_told() {
    let bench = bench();
    for (id, more) in [("off", ("disable", "1")), ("elsewhere", ("nodes", "pve7"))] {
        bench.post(
            "/storage",
            &[("storage", id), ("type", "dir"), ("path", "/srv"), ("content", "import"), more],
        );
    }
    let folder = tempfile::tempdir().unwrap();
    let src = local(&folder, "x.raw", b"x");
    for (storage, nodes, text) in [
        ("off", "all", "storage off is disabled on pve1"),
        ("elsewhere", "all", "no node that is online has storage elsewhere"),
        ("elsewhere", "pve1", "storage elsewhere is not on node pve1: it is on pve7"),
        ("nope", "all", "storage nope does not exist, or the caller may not see it"),
    ] {
        for task in [
            json!({"storage": storage, "nodes": nodes, "src": src}),
            json!({"storage": storage, "nodes": nodes, "name": "x.raw", "state": "absent"}),
        ] {
            let failed = bench.module(task).run();
            assert!(failed.failed().contains(text), "{}", failed.failed());
        }
    }
}
