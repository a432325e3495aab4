//! What goes wrong on the way.

use std::time::Duration;

use pve_lab::{AgentScript, CallFault, LabConfig, TaskFault};
use serde_json::json;

use crate::support::{bench, creations, web, with};

#[test]
fn a_configuration_changed_by_another_is_compared_again() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.lab.fail_calls("PUT", "/config", 1, CallFault::ChangeDigest);
    let outcome = bench.module(json!({"vmid": 201, "onboot": false})).run();
    assert!(outcome.changed());
    assert_eq!(outcome.result["config"]["onboot"], "0");
    assert!(outcome.warnings()[0].contains("the state changed while it was being worked on"));
}

#[test]
fn b19_a_failed_task_is_told_at_once_with_its_words() {
    let bench = bench();
    bench.lab.fail_tasks("qmcreate", 1, TaskFault::Fail("storage 'fast' does not exist".into()));
    let outcome = bench.module(web()).run();
    let message = outcome.failed();
    assert!(message.starts_with("failed to create vm web (201) on pve1"), "{message}");
    assert!(message.contains("storage 'fast' does not exist"), "{message}");
    // the next run makes it
    assert!(bench.module(web()).run().changed());
}

#[test]
fn warnings_of_a_task_are_passed_on() {
    let bench = bench();
    bench.lab.fail_tasks("qmstart", 1, TaskFault::Warn(vec!["no efidisk configured!".into()]));
    let outcome = bench.module(web()).run();
    assert!(outcome.changed());
    assert!(outcome.warnings().iter().any(|line| line.contains("no efidisk configured!")));
}

#[test]
fn b16_a_lock_is_waited_for() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.lab.lock_guest(201, "clone", Duration::from_secs(1));
    let outcome = bench.module(json!({"vmid": 201, "onboot": false})).run();
    assert!(outcome.changed());
    bench.lab.hold_lock(201, Duration::from_secs(1));
    assert!(bench.module(json!({"vmid": 201, "onboot": true})).run().changed());
}

#[test]
fn b17_a_lock_that_stays_is_named_and_left() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.lab.lock_guest(201, "backup", Duration::from_secs(60));
    bench.forget();
    let outcome = bench.module(json!({"vmid": 201, "onboot": false, "wait_timeout": 1})).run();
    let message = outcome.failed();
    assert!(message.contains("vm web (201) is locked (backup)"), "{message}");
    assert!(message.contains("qm unlock"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
    // without a change the lock is nobody's business
    assert!(!bench.module(json!({"vmid": 201, "onboot": true})).run().changed());
}

#[test]
fn b21_a_call_without_an_answer_is_not_repeated_blindly() {
    for fault in [
        CallFault::DropAfter,
        CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done: true },
    ] {
        let bench = bench();
        bench.lab.fail_calls("POST", "/nodes/pve1/qemu", 1, fault.clone());
        let outcome = bench.module(web()).run();
        assert!(outcome.changed(), "{fault:?}: {}", outcome.stdout);
        assert_eq!(creations(&bench), 1);
        assert_eq!(outcome.result["status"], "running");
    }
}

#[test]
fn the_address_is_waited_for_and_decided_by_the_mac() {
    let bench = bench();
    let module = bench.module(web()).args(json!({"wait_for": "address", "wait_timeout": 30}));
    let outcome = module.run();
    assert!(outcome.changed(), "{}", outcome.stdout);
    assert_eq!(outcome.result["address_source"], "agent");
    bench.forget();
    assert!(!module.run().changed());
    assert_eq!(bench.calls().len(), 4, "{:?}", bench.calls());
}

#[test]
fn a_silent_agent_is_told_with_what_to_check() {
    let bench = with(LabConfig::default());
    let silent = AgentScript { not_running: true, ..AgentScript::default() };
    bench.lab.script_agent(201, silent);
    let args = json!({"wait_for": "address", "wait_timeout": 1});
    let outcome = bench.module(web()).args(args.clone()).run();
    let message = outcome.failed();
    for text in [
        "an address of vm web (201) on pve1 did not come within 1 s",
        "last seen: QEMU guest agent is not running",
        "qemu-guest-agent",
        "udev rule",
    ] {
        assert!(message.contains(text), "{message}");
    }
    assert_eq!(outcome.result["address_reason"]["kind"], "agent_silent");
    // a fixed address stands in, and says that it was not observed
    let fixed = json!({"ipconfig": {"ipconfig0": "ip=10.0.0.7/24"}});
    let outcome = bench.module(web()).args(args).args(fixed).run();
    assert_eq!(outcome.ok()["address"], "10.0.0.7");
    assert_eq!(outcome.result["address_source"], "configured");
    assert!(outcome.warnings()[0].contains("is the configured one, not an observed one"));
}

#[test]
fn a40_trouble_while_the_machine_boots_is_not_the_end() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.lab.script_agent(201, AgentScript { not_running: true, ..AgentScript::default() });
    bench.lab.fail_calls(
        "GET",
        "/agent/",
        1,
        CallFault::Proxy { status: 596, reason: "Connection timed out".into(), done: false },
    );
    let outcome = std::thread::scope(|scope| {
        let run = scope.spawn(|| {
            let args = json!({"wait_for": "address", "wait_timeout": 60});
            bench.module(web()).args(args).run()
        });
        let asked = || bench.calls().iter().filter(|call| call.contains("/agent/")).count();
        let wait = |times| {
            while asked() < times {
                std::thread::yield_now()
            }
        };
        bench.forget();
        wait(3);
        let lo = json!([{"name": "lo", "hardware-address": "00:00:00:00:00:00",
                         "ip-addresses": [{"ip-address": "127.0.0.1", "prefix": 8}]}]);
        let answers =
            std::collections::HashMap::from([("guest-network-get-interfaces".into(), lo)]);
        bench.lab.script_agent(201, AgentScript { answers, ..AgentScript::default() });
        wait(5);
        bench.lab.script_agent(201, AgentScript::default());
        run.join().unwrap()
    });
    assert!(!outcome.changed(), "{}", outcome.stdout);
    assert_eq!(outcome.result["address_source"], "agent");
}

#[test]
fn b24_a_slow_storage_is_given_another_try() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    let slow = "command '/usr/bin/qemu-img resize -f qcow2 x 10G' failed: got timeout";
    let grow = bench.module(json!({"vmid": 201, "scsi": {"scsi0": {"size": "10G"}}}));
    bench.lab.fail_tasks("resize", 1, TaskFault::Fail(slow.into()));
    assert!(grow.run().changed());
    bench.lab.fail_tasks("resize", 9, TaskFault::Fail(slow.into()));
    let grow = bench.module(json!({"vmid": 201, "scsi": {"scsi0": {"size": "12G"}}})).run();
    let message = grow.failed();
    assert!(
        message.starts_with("failed to grow scsi0 of vm web (201) from 10G to 12G: "),
        "{message}"
    );
    assert!(message.contains("it still has 10G"), "{message}");
}

#[test]
fn b21_no_call_is_done_twice_because_its_answer_was_lost() {
    let proxy = |done| CallFault::Proxy { status: 596, reason: "Broken pipe".into(), done };
    let cases = [
        ("/9000/clone", json!({"vmid": 300, "name": "copy", "clone": "9000", "cores": 1})),
        ("/201/template", json!({"vmid": 201, "state": "template", "force": true})),
        (
            "/201/move_disk",
            json!({"vmid": 201, "scsi": {"scsi0": {"storage": "fast"}}, "move": true}),
        ),
        (
            "/201/migrate",
            json!({"vmid": 201, "node": "pve2", "migrate": true, "with_local_disks": true}),
        ),
        ("/201/status/suspend", json!({"vmid": 201, "state": "hibernated"})),
        ("/201/status/suspend", json!({"vmid": 201, "state": "paused"})),
        ("/201/status/shutdown", json!({"vmid": 201, "state": "stopped"})),
        ("/201/status/reboot", json!({"vmid": 201, "state": "restarted"})),
        ("/201", json!({"vmid": 201, "state": "absent", "force": true})),
    ];
    for (path, args) in cases {
        for (fault, times) in [
            (CallFault::DropAfter, 1),
            (proxy(true), 1),
            (proxy(false), 2),
            (CallFault::DropBefore, 2),
        ] {
            let bench = with(LabConfig { nodes: 2, ..LabConfig::default() });
            bench.post(
                "/storage",
                &[
                    ("storage", "fast"),
                    ("type", "dir"),
                    ("path", "/mnt/fast"),
                    ("content", "images"),
                ],
            );
            assert!(bench.module(web()).run().changed());
            let template = json!({"vmid": 9000, "name": "debian13", "state": "template"});
            assert!(bench.module(web()).args(template).run().changed());
            let method = if path == "/201" { "DELETE" } else { "POST" };
            bench.lab.fail_calls(method, path, 1, fault.clone());
            bench.forget();
            let outcome = bench.module(args.clone()).arg("wait_timeout", 5).run();
            // nobody can tell a reboot that was not taken from one that is slow
            let lost = times == 2 && path.ends_with("/reboot");
            if lost {
                assert!(outcome.failed().contains("did not run again within 5 s"));
                continue;
            }
            assert!(outcome.changed(), "{path}, {fault:?}: {}", outcome.stdout);
            let calls = bench.writes();
            let sent = calls.iter().filter(|call| call.starts_with(method) && call.ends_with(path));
            assert_eq!(sent.count(), times, "{path}, {fault:?}: {calls:?}");
            if !path.ends_with("/reboot") {
                let again = bench.module(args.clone()).run();
                assert!(!again.changed(), "{path}, {fault:?}: {}", again.stdout);
            }
        }
    }
}
