//! Every scenario of `docs/privileges.yml` with exactly the privileges that it says, and with one
//! less.

use pve_lab::{Fleet, LabConfig, PveVersion, scenarios};
use serde_json::json;

use crate::support::{make, with};

#[test]
fn snapshots_need_exactly_what_is_written() {
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_snapshot") {
            let new = || {
                let bench = with(LabConfig { version, ..LabConfig::default() });
                make(&bench, 201, "web", &[]);
                if scenario.before == "snapshot" {
                    let made = bench.module(json!({"vmid": 201, "snapname": "pre"})).run();
                    assert!(made.changed());
                }
                bench
            };
            let wrong = scenario.prove(version, new, |bench, id, secret| {
                let token = json!({"api_token_id": id, "api_token_secret": secret});
                let outcome = bench.module(scenario.options.clone()).args(token).run();
                match outcome.result["changed"].as_bool() {
                    Some(true) if outcome.result["failed"] != true => Ok(()),
                    _ => Err(outcome.stdout),
                }
            });
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}

#[test]
fn a_machine_that_may_not_be_seen_is_not_taken_for_absent() {
    let bench = with(LabConfig::default());
    make(&bench, 201, "web", &[]);
    assert!(bench.module(json!({"vmid": 201, "snapname": "pre"})).run().changed());
    bench.forget();
    let blind = bench.token("blind", &[("/storage", &["Datastore.Audit"])]);
    for (machine, text) in [
        (json!({"vmid": 201}), "may not see: it lacks VM.Audit on /vms/201"),
        (json!({"name": "web"}), "token 'blind@pve!t' has VM.Audit nowhere"),
    ] {
        for state in ["absent", "present", "rollback"] {
            let args = json!({"snapname": "pre", "state": state});
            let outcome = bench.module(machine.clone()).args(args).args(blind.clone()).run();
            assert!(outcome.failed().contains(text), "{machine} {state}: {}", outcome.failed());
        }
    }
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn what_cannot_be_taken_back_needs_a_name_that_is_known_to_be_one_machines() {
    let fleet = Fleet { guests: 6, containers: 0, stopped: 0, ..Fleet::default() };
    let bench = with(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
    let other = bench.module(json!({"vmid": 100, "snapname": "pre"})).check().run();
    let name = other.ok()["name"].as_str().unwrap().to_owned();
    bench.lab.set_offline("pve2", true);
    bench.forget();
    for state in ["absent", "rollback"] {
        let outcome = bench.module(json!({"name": name, "snapname": "pre", "state": state})).run();
        let message = outcome.failed();
        assert!(message.contains("it cannot be told whether 100 on pve1 is the only"), "{message}");
    }
    assert_eq!(bench.writes(), [""; 0]);
    assert!(bench.module(json!({"name": name, "snapname": "pre"})).check().run().changed());
}
