//! Killed between any two requests: the next run ends in the wanted state, and leaves nothing else.

use std::time::Duration;

use pve_lab::{LabConfig, Place};
use serde_json::{Value, json};

use crate::support::{Bench, also, bytes, files, local, published, with};

fn new() -> Bench {
    // long enough that a kill comes before the next request
    let latency = Duration::from_millis(15);
    let bench = with(LabConfig { latency, ..LabConfig::default() });
    bench.lab.put_file("pve1", "local:import/old.raw", b"old");
    bench
}

/// Kills the task everywhere, and lets it end.
fn killed_everywhere(task: &Value, wanted: &[&str]) {
    let whole = new();
    assert!(whole.module(task.clone()).run().changed());
    assert_eq!(files(&whole), wanted);
    let requests = whole.lab.requests().len();
    assert!(requests > 5, "{requests}");
    for after in 1..=requests {
        let bench = new();
        bench.kill_after(task.clone(), after);
        // what a task on the node still does, the next run waits for or meets
        bench.module(task.clone()).run().ok();
        assert_eq!(files(&bench), wanted, "killed after {after} requests");
        assert!(!bench.module(task.clone()).run().changed(), "killed after {after} requests");
    }
}

#[test]
fn an_upload_is_finished_by_the_next_run() {
    let folder = tempfile::tempdir().unwrap();
    let src = local(&folder, "x.raw", &bytes(1, 50_000));
    let task = json!({"storage": "local", "src": src, "name": "new.raw"});
    killed_everywhere(&task, &["import/new.raw", "import/old.raw"]);
}

#[test]
fn a_download_is_finished_by_the_next_run() {
    let image = bytes(1, 5000);
    let slow = Place::Slow(image.clone(), 2000, Duration::from_millis(20));
    let (_origin, task) = published(slow, &image);
    let task = also(&task, json!({"name": "new.raw"}));
    killed_everywhere(&task, &["import/new.raw", "import/old.raw"]);
}

#[test]
fn a_replacement_is_finished_by_the_next_run() {
    let image = bytes(1, 5000);
    let (_origin, task) = published(Place::File(image.clone()), &image);
    let task = also(&task, json!({"name": "old.raw", "replace": true}));
    killed_everywhere(&task, &["import/old.raw"]);
}

#[test]
fn what_a_comparison_left_is_removed_by_the_next_run() {
    let image = bytes(1, 5000);
    let slow = Place::Slow(image.clone(), 2000, Duration::from_millis(20));
    let (_origin, task) = published(slow, &image);
    // without a checksum the node cannot be asked for that of its file, and a fresh transfer is made
    let blind = json!({"name": "own.raw", "checksum": null, "allow_unverified": true});
    let task = also(&task, blind);
    let proving = also(&task, json!({"verify": true}));
    let new = || {
        let bench = new();
        assert!(bench.module(task.clone()).run().changed());
        bench.lab.clear_requests();
        bench
    };
    let wanted = ["import/old.raw", "import/own.raw"];
    let whole = new();
    assert!(!whole.module(proving.clone()).run().changed());
    assert_eq!(files(&whole), wanted);
    let mut removed = 0;
    for after in 1..=whole.lab.requests().len() {
        let bench = new();
        bench.kill_after(proving.clone(), after);
        // the node may be about to remove it for the run that was killed
        removed += usize::from(bench.module(task.clone()).run().changed());
        // a download that went on without anyone waiting may have ended just now
        bench.module(task.clone()).run().ok();
        assert_eq!(files(&bench), wanted, "killed after {after} requests");
    }
    assert!(removed > 0, "no run found anything left");
}
