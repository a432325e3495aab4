//! Tasks that fail, answers that do not come.

use std::time::{Duration, Instant};

use pve_lab::{CallFault, Place, TaskFault};
use serde_json::json;

use crate::support::{also, bench, bytes, files, local, named, published};

fn lost() -> Vec<CallFault> {
    let proxy = |done| CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done };
    vec![CallFault::DropAfter, CallFault::DropBefore, proxy(true), proxy(false)]
}

#[test]
fn b21_a_lost_answer_is_looked_after() {
    let image = bytes(1, 4000);
    for fault in lost() {
        let bench = bench();
        let (_origin, task) = published(Place::File(image.clone()), &image);
        bench.lab.fail_calls("POST", "/download-url", 1, fault.clone());
        bench.lab.fail_tasks("download", 1, TaskFault::Slow(Duration::from_millis(300)));
        assert!(bench.module(task.clone()).run().changed(), "{fault:?}");
        assert_eq!(files(&bench), [format!("import/{}", named("x", &image, ".raw"))]);
        assert!(!bench.module(task).run().changed(), "{fault:?}");
    }
    for fault in lost() {
        let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
        let task = json!({"storage": "local", "src": local(&folder, "x.raw", &image)});
        bench.lab.fail_calls("POST", "/upload", 1, fault.clone());
        bench.lab.fail_tasks("imgcopy", 1, TaskFault::Slow(Duration::from_millis(300)));
        assert!(bench.module(task.clone()).run().changed(), "{fault:?}");
        assert!(!bench.module(task).run().changed(), "{fault:?}");
        assert_eq!(bench.lab.spooled(), 0);
    }
}

#[test]
fn a_task_that_fails_gives_its_words_and_nothing_is_left() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(1, 4000);
    let task = json!({"storage": "local", "src": local(&folder, "x.raw", &image)});
    // what cp had written before the disk was full would be taken for the file by its name
    bench.lab.set_free("local", 4000);
    bench.lab.fail_tasks("imgcopy", 1, TaskFault::Fail("import failed: cp: No space left".into()));
    bench.lab.put_file("pve1", "local:import/other.raw", b"x");
    let failed = bench.module(task).run();
    let message = failed.failed();
    assert!(
        message.contains("task imgcopy on pve1 failed: import failed: cp: No space left"),
        "{message}"
    );
    assert_eq!(files(&bench), ["import/other.raw"]);
    assert_eq!(failed.result["changed"], false);
}

#[test]
fn a_download_that_stands_still_is_stopped_and_told() {
    let bench = bench();
    let image = bytes(1, 4000);
    let (_origin, task) = published(Place::Stuck(image.clone()), &image);
    let failed = bench.module(also(&task, json!({"stall_timeout": 1}))).run();
    let message = failed.failed();
    assert!(message.contains("task download on pve1 still runs after 1 s"), "{message}");
    let stops =
        bench.writes().iter().filter(|call| call.starts_with("DELETE /nodes/pve1/tasks")).count();
    assert_eq!(stops, 1, "{:?}", bench.writes());
    // the task takes its part of the file with it
    let end = Instant::now() + Duration::from_secs(10);
    while !files(&bench).is_empty() && Instant::now() < end {
        std::thread::yield_now();
    }
    assert_eq!(files(&bench), [""; 0]);
}

#[test]
fn b44_time_limits_are_of_standing_still_only() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(1, 4000);
    let task = json!({
        "storage": "local", "src": local(&folder, "x.raw", &image),
        "api_timeout": 1, "stall_timeout": 10,
    });
    bench.lab.fail_tasks("imgcopy", 1, TaskFault::Slow(Duration::from_secs(2)));
    assert!(bench.module(task).run().changed());
}
