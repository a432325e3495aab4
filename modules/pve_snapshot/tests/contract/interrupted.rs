//! Killed between any two requests: the next run ends in the wanted state.

use std::process::{Command, Stdio};
use std::time::Duration;

use pve_lab::LabConfig;
use serde_json::{Value, json};

use crate::support::Bench;
use crate::take;

fn bench() -> Bench {
    // long enough that a kill comes before the next request
    let latency = Duration::from_millis(15);
    let bench = Bench::with(LabConfig { latency, ..LabConfig::default() });
    bench.make(101, "web", &[]);
    take(&bench, "night-1");
    take(&bench, "night-2");
    bench.lab.clear_requests();
    bench
}

/// Runs the module and kills it once the lab has seen so many requests.
fn kill_after(bench: &Bench, args: &Value, requests: usize) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("args");
    let (id, secret) = bench.lab.token();
    let mut all = args.clone();
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
    std::fs::write(&file, all.to_string()).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_pve_snapshot"))
        .arg(&file)
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
fn killed_anywhere_the_second_run_finishes() {
    let night = json!({"snapname": "night-3", "retention": 2, "retention_pattern": "night-*"});
    let kept = ["current on night-3", "night-2 on -", "night-3 on night-2"];
    let gone = json!({"snapname": "night-1", "state": "absent"});
    let without = ["current on night-2", "night-2 on -"];
    let back = json!({"snapname": "night-1", "state": "rollback", "start": true});
    let branch = ["current on night-1", "night-1 on -", "night-2 on night-1"];
    for (mut args, tree, again) in
        [(night, &kept[..], false), (gone, &without, false), (back, &branch, true)]
    {
        args["vmid"] = 101.into();
        let whole = bench();
        assert!(whole.module(args.clone()).run().changed());
        let requests = whole.lab.requests().len();
        assert!(requests > 5, "{requests}");
        assert_eq!(whole.tree(101), tree);
        for after in 1..=requests {
            let bench = bench();
            kill_after(&bench, &args, after);
            bench.module(args.clone()).run().ok();
            assert_eq!(bench.tree(101), tree, "{args} killed after {after} requests");
            assert_eq!(bench.module(args.clone()).run().changed(), again, "{args} after {after}");
        }
    }
}
