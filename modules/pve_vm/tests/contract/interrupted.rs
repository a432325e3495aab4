//! Killed between any two requests: the next run ends in the wanted state with one machine.

use std::process::{Command, Stdio};
use std::time::Duration;

use pve_lab::LabConfig;
use serde_json::{Value, json};

use crate::support::{Bench, web};

fn bench() -> Bench {
    Bench::with(LabConfig {
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

/// Runs the module and kills it once the lab has seen so many requests.
fn kill_after(bench: &Bench, wanted: Value, requests: usize) {
    let dir = tempfile::tempdir().unwrap();
    let args = dir.path().join("args");
    let (id, secret) = bench.lab.token();
    let mut all = wanted;
    all.as_object_mut().unwrap().extend(
        json!({
            "api_host": "127.0.0.1", "api_port": bench.lab.port(),
            "api_token_id": id, "api_token_secret": secret,
            "api_fingerprint": bench.lab.fingerprint(),
        })
        .as_object()
        .unwrap()
        .clone(),
    );
    std::fs::write(&args, all.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pve_vm"))
        .arg(&args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    while bench.lab.requests().len() < requests && child.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn b71_killed_anywhere_the_second_run_finishes_with_one_machine() {
    let whole = bench();
    assert!(whole.module(wanted()).run().changed());
    let requests = whole.calls().len();
    assert!(requests > 8, "{:?}", whole.calls());
    for after in 1..=requests {
        let bench = bench();
        kill_after(&bench, wanted(), after);
        let second = bench.module(wanted()).run();
        assert_eq!(second.ok()["status"], "running", "killed after {after} requests");
        assert!(second.result["config"]["scsi0"].as_str().unwrap().contains("size=8G"));
        assert_eq!(bench.creations(), 1, "killed after {after}: {:?}", bench.calls());
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
        kill_after(&bench, wanted(), after);
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
