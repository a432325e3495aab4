//! Killed between any two requests: the next run ends in the wanted state with one machine.

use std::time::Duration;

use pve_lab::LabConfig;
use serde_json::{Value, json};

use crate::support::{Bench, creations, web, with};

fn bench() -> Bench {
    with(LabConfig {
        // long enough that a kill comes before the next request
        latency: Duration::from_millis(15),
        // the second run comes before the cluster knows the name
        lag: Duration::from_secs(60),
        ..LabConfig::default()
    })
}

/// The options of a machine that is made without a number of its own.
fn wanted() -> Value {
    let mut args = web();
    args.as_object_mut().unwrap().remove("vmid");
    args["cipassword"] = "hunter2".into();
    args
}

#[test]
fn b71_killed_anywhere_the_second_run_finishes_with_one_machine() {
    let whole = bench();
    assert!(whole.module(wanted()).run().changed());
    let requests = whole.calls().len();
    assert!(requests > 8, "{:?}", whole.calls());
    for after in 1..=requests {
        let bench = bench();
        bench.kill_after(wanted(), after);
        let second = bench.module(wanted()).run();
        assert_eq!(second.ok()["status"], "running", "killed after {after} requests");
        assert!(second.result["config"]["scsi0"].as_str().unwrap().contains("size=8G"));
        assert_eq!(creations(&bench), 1, "killed after {after}: {:?}", bench.calls());
        assert!(!bench.module(wanted()).run().changed(), "killed after {after} requests");
    }
}

#[test]
fn b16_a_copy_killed_anywhere_is_finished_by_the_second_run() {
    let template = || {
        let bench = bench();
        let args = json!({"vmid": 9000, "name": "debian13", "state": "template"});
        assert!(bench.module(web()).args(args).run().changed());
        bench.forget();
        bench
    };
    let wanted = || {
        json!({
            "name": "web", "node": "pve1", "clone": "debian13", "state": "started", "cores": 4,
            "ciuser": "me", "scsi": {"scsi0": {"size": "9G"}},
        })
    };
    let whole = template();
    assert!(whole.module(wanted()).run().changed());
    let requests = whole.calls().len();
    for after in 1..=requests {
        let bench = template();
        bench.kill_after(wanted(), after);
        let second = bench.module(wanted()).run();
        let config = &second.ok()["config"];
        assert_eq!(config["cores"], "4", "killed after {after} requests");
        assert!(config["scsi0"].as_str().unwrap().ends_with("size=9G"), "{config}");
        assert_eq!(second.result["status"], "running", "killed after {after} requests");
        let copies = bench.writes().iter().filter(|call| call.ends_with("/clone")).count();
        assert_eq!(copies, 1, "killed after {after}: {:?}", bench.calls());
        assert!(!bench.module(wanted()).run().changed(), "killed after {after} requests");
    }
}
