//! The built binary against the lab.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod faults;
mod interrupted;
mod privileges;
mod support;

use harness::check_apply_again;
use pve_lab::LabConfig;
use serde_json::{Value, json};

use crate::support::{Bench, make, tree, with};

/// A lab with `web` (101), whose disk can have snapshots.
fn bench() -> Bench {
    let bench = with(LabConfig::default());
    make(&bench, 101, "web", &[]);
    bench.lab.clear_requests();
    bench
}

fn take(bench: &Bench, snapname: &str) {
    assert!(bench.module(json!({"vmid": 101, "snapname": snapname})).run().changed());
}

#[test]
fn b70_check_mode_tells_the_truth() {
    let bench = bench();
    let args = json!({"name": "web", "snapname": "pre", "description": "before"});
    let cycle = check_apply_again(&bench.module(args.clone()), || tree(&bench, 101));
    assert_eq!(cycle.check.plan(), ["take snapshot pre of vm web (101)"]);
    assert_eq!(cycle.real.ok()["snapshots"][0]["description"], "before");
    assert_eq!(tree(&bench, 101), ["current on pre", "pre on -"]);
    let diff = &cycle.check.result["diff"][0];
    assert_eq!(diff["before"], "status: stopped\n");
    assert_eq!(diff["after"], "status: stopped\npre: before\nthe machine stands on pre\n");
    // its description is all that can be changed
    let mut other = args;
    other["description"] = "before the upgrade".into();
    let look = || bench.lab.config_text(101);
    let cycle = check_apply_again(&bench.module(other), look);
    assert_eq!(cycle.real.ok()["snapshots"][0]["description"], "before the upgrade");
    assert_eq!(tree(&bench, 101), ["current on pre", "pre on -"]);
    let gone = bench.module(json!({"vmid": 101, "snapname": "pre", "state": "absent"}));
    let cycle = check_apply_again(&gone, || tree(&bench, 101));
    assert_eq!(cycle.real.ok()["snapshots"], json!([]));
    assert_eq!(tree(&bench, 101), ["current on -"]);
}

#[test]
fn one_in_the_middle_leaves_its_children() {
    let bench = bench();
    for name in ["s1", "s2", "s3"] {
        take(&bench, name);
    }
    let module = bench.module(json!({"vmid": 101, "snapname": "s2", "state": "absent"}));
    let cycle = check_apply_again(&module, || tree(&bench, 101));
    assert_eq!(tree(&bench, 101), ["current on s3", "s1 on -", "s3 on s1"]);
    let after = cycle.check.result["diff"][0]["after"].as_str().unwrap();
    assert_eq!(after, "status: stopped\ns1\ns3 on s1\nthe machine stands on s3\n");
    // from an older one a branch grows
    assert!(
        bench.module(json!({"vmid": 101, "snapname": "s1", "state": "rollback"})).run().changed()
    );
    take(&bench, "s4");
    assert_eq!(tree(&bench, 101), ["current on s4", "s1 on -", "s3 on s1", "s4 on s1"]);
}

#[test]
fn retention_keeps_the_newest_and_what_is_not_its_own() {
    let bench = bench();
    for name in ["by-hand", "night-1", "night-2", "night-3"] {
        take(&bench, name);
    }
    let args = json!({
        "vmid": 101, "snapname": "night-4", "retention": 2, "retention_pattern": "night-*",
    });
    let cycle = check_apply_again(&bench.module(args), || tree(&bench, 101));
    assert_eq!(
        cycle.real.plan(),
        [
            "take snapshot night-4 of vm web (101)",
            "remove snapshot night-1 of vm web (101)",
            "remove snapshot night-2 of vm web (101)",
        ]
    );
    assert_eq!(
        tree(&bench, 101),
        ["by-hand on -", "current on night-4", "night-3 on by-hand", "night-4 on night-3"]
    );
}

#[test]
fn going_back_is_a_change_each_time_and_starts_only_if_asked() {
    let bench = bench();
    take(&bench, "pre");
    for (running, start, after, line) in [
        (false, false, "stopped", "take vm web (101) back to snapshot pre"),
        (false, true, "running", "take vm web (101) back to snapshot pre and let it run"),
        (
            true,
            true,
            "running",
            "take vm web (101) back to snapshot pre, which stops it and starts it again",
        ),
        (true, false, "stopped", "take vm web (101) back to snapshot pre, which stops it"),
    ] {
        let args = json!({"vmid": 101, "snapname": "pre", "state": "rollback", "start": start});
        let check = bench.module(args.clone()).check().run();
        assert_eq!(check.ok()["status"], if running { "running" } else { "stopped" });
        let outcome = bench.module(args).run();
        assert!(outcome.changed());
        assert_eq!((check.plan(), outcome.plan()), (vec![line], vec![line]));
        assert_eq!(outcome.ok()["status"], after);
    }
}

#[test]
fn memory_is_kept_and_goes_on() {
    let bench = bench();
    let args = json!({"vmid": 101, "snapname": "mem", "vmstate": true});
    let stopped = bench.module(args.clone()).check().run();
    assert_eq!(stopped.warnings(), ["vm web (101) does not run, so the snapshot holds no memory"]);
    bench.start(101);
    let cycle = check_apply_again(&bench.module(args), || tree(&bench, 101));
    assert_eq!(cycle.real.plan(), ["take snapshot mem of vm web (101) with its memory"]);
    assert_eq!(cycle.real.ok()["snapshots"][0]["vmstate"], true);
    assert_eq!(cycle.again.warnings(), [""; 0]);
    let back = bench.module(json!({"vmid": 101, "snapname": "mem", "state": "rollback"})).run();
    assert_eq!(back.ok()["status"], "running");
    // of one that is there without memory it is said, and nothing is done about it
    take(&bench, "plain");
    let again = bench.module(json!({"vmid": 101, "snapname": "plain", "vmstate": true})).run();
    assert!(!again.changed());
    assert!(again.warnings()[0].contains("there without memory"), "{:?}", again.warnings());
}

#[test]
fn what_stands_against_it_is_said_before_anything_is_done() {
    let bench = bench();
    make(&bench, 102, "raw", &[("scsi1", "local:1,format=raw")]);
    make(&bench, 103, "web", &[]);
    take(&bench, "pre");
    bench.lab.clear_requests();
    for (args, text) in [
        (
            json!({"vmid": 102, "snapname": "pre"}),
            "vm raw (102) cannot have snapshots: PVE says that not every disk of it can (scsi0 \
             local:102/vm-102-disk-0.qcow2, scsi1 local:102/vm-102-disk-1.raw)",
        ),
        (
            json!({"name": "web", "snapname": "pre"}),
            "2 machines are called web: 101 on pve1, 103 on",
        ),
        (
            json!({"name": "nosuch", "snapname": "pre"}),
            "vm nosuch does not exist, or the caller may",
        ),
        (json!({"vmid": 101, "name": "db", "snapname": "pre"}), "vmid 101 is web, not db"),
        (json!({"vmid": 101, "snapname": "current"}), "'current' is PVE's own word"),
        (json!({"vmid": 101, "snapname": "1"}), "'1' is not a snapshot's name"),
        (
            json!({"vmid": 101, "snapname": "no-such", "state": "rollback"}),
            "vm web (101) has no snapshot no-such to go back to: it has pre",
        ),
        (json!({"snapname": "pre"}), "one of the following is required: vmid, name"),
    ] {
        for module in [bench.module(args.clone()).check(), bench.module(args.clone())] {
            let outcome = module.run();
            assert!(outcome.failed().contains(text), "{args}: {}", outcome.failed());
        }
    }
    assert_eq!(bench.writes(), [""; 0]);
    let gone = json!({"name": "nosuch", "snapname": "pre", "state": "absent"});
    assert!(!bench.module(gone).run().changed());
}

#[test]
fn a_missing_privilege_is_named_and_only_what_is_needed_is_asked() {
    let bench = bench();
    take(&bench, "pre");
    let run = |args: Value, privileges: &[&str]| {
        bench.module(args).args(bench.token("some", &[("/vms/101", privileges)])).run()
    };
    let new = json!({"vmid": 101, "snapname": "new"});
    let lacks = run(new.clone(), &["VM.Audit"]);
    let message = lacks.failed();
    assert!(message.contains("token 'some@pve!t' lacks VM.Snapshot on /vms/101"), "{message}");
    assert!(run(new.clone(), &["VM.Audit", "VM.Snapshot"]).changed());
    // nothing to do needs nothing but sight
    assert!(!run(new, &["VM.Audit"]).changed());
    let back = json!({"vmid": 101, "snapname": "pre", "state": "rollback"});
    let lacks = run(back.clone(), &["VM.Audit"]);
    assert!(lacks.failed().contains("lacks VM.Snapshot.Rollback on"), "{}", lacks.failed());
    assert!(run(back.clone(), &["VM.Audit", "VM.Snapshot.Rollback"]).changed());
    let mut start = back;
    start["start"] = true.into();
    assert!(run(start, &["VM.Audit", "VM.Snapshot"]).changed());
}
