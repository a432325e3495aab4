//! Locks, tasks that fail or warn, answers that do not come.

use std::time::Duration;

use pve_lab::{CallFault, TaskFault};
use serde_json::{Value, json};

use crate::support::tree;
use crate::{bench, take};

fn pre() -> Value {
    json!({"vmid": 101, "snapname": "pre"})
}

#[test]
fn b15_a_lock_is_waited_for_and_never_removed() {
    let bench = bench();
    bench.lab.lock_guest(101, "backup", Duration::from_millis(600));
    let check = bench.module(pre()).check().run();
    assert_eq!(
        check.warnings(),
        ["vm web (101) is locked (backup): a run would wait for that first"]
    );
    assert!(bench.module(pre()).run().changed());
    assert_eq!(tree(&bench, 101), ["current on pre", "pre on -"]);
    bench.lab.lock_guest(101, "backup", Duration::from_secs(60));
    bench.lab.clear_requests();
    let stays = bench.module(json!({"vmid": 101, "snapname": "two", "wait_timeout": 1})).run();
    let message = stays.failed();
    assert!(message.contains("vm web (101) is locked (backup) and was so for 1 s"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
    // nothing to do does not wait
    assert!(!bench.module(pre()).run().changed());
}

#[test]
fn b16_another_task_that_holds_the_configuration_is_waited_for() {
    let bench = bench();
    bench.lab.hold_lock(101, Duration::from_secs(2));
    assert!(bench.module(pre()).run().changed());
    assert_eq!(tree(&bench, 101), ["current on pre", "pre on -"]);
}

#[test]
fn b19_a_failed_task_gives_its_words_and_warnings_are_passed_on() {
    let bench = bench();
    bench.lab.fail_tasks("qmsnapshot", 1, TaskFault::Fail("no space left on device".into()));
    let failed = bench.module(pre()).run();
    let message = failed.failed();
    assert!(
        message.contains("failed to take snapshot pre of vm web (101): task qmsnapshot on pve1"),
        "{message}"
    );
    assert!(message.contains("no space left on device"), "{message}");
    bench.lab.fail_tasks("qmsnapshot", 1, TaskFault::Warn(vec!["a disk was slow".into()]));
    let warned = bench.module(pre()).run();
    assert!(warned.changed());
    assert_eq!(warned.warnings(), ["a disk was slow"]);
}

#[test]
fn b78_an_answer_that_is_lost_is_looked_after() {
    for fault in [
        CallFault::DropAfter,
        CallFault::DropBefore,
        CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done: true },
        CallFault::Proxy { status: 595, reason: "No route to host".into(), done: false },
    ] {
        let bench = bench();
        bench.lab.fail_calls("POST", "/snapshot", 1, fault.clone());
        let outcome = bench.module(pre()).run();
        outcome.ok();
        assert_eq!(tree(&bench, 101), ["current on pre", "pre on -"], "{fault:?}");
        assert!(!bench.module(pre()).run().changed(), "{fault:?}");
        bench.lab.fail_calls("DELETE", "/snapshot", 1, fault.clone());
        let gone = json!({"vmid": 101, "snapname": "pre", "state": "absent"});
        bench.module(gone.clone()).run().ok();
        assert_eq!(tree(&bench, 101), ["current on -"], "{fault:?}");
        assert!(!bench.module(gone).run().changed(), "{fault:?}");
    }
}

#[test]
fn a_hibernated_machine_is_not_waited_for() {
    let bench = bench();
    take(&bench, "pre");
    bench.lab.lock_guest(101, "suspended", Duration::from_secs(60));
    let outcome = bench.module(json!({"vmid": 101, "snapname": "two"})).run();
    assert!(outcome.failed().contains("vm web (101) is hibernated"), "{}", outcome.failed());
}
