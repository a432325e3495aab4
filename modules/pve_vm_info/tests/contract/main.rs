//! The built binary against the lab.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod privileges;
mod support;

use std::time::Duration;

use pve_lab::{AgentScript, CallFault, Fleet, LabConfig};
use serde_json::{Value, json};

use crate::support::{Bench, set, snapshot, with};

fn names(result: &Value) -> Vec<&str> {
    let vms = result["vms"].as_array().unwrap();
    vms.iter().map(|vm| vm["name"].as_str().unwrap_or("-")).collect()
}

fn vm(result: &Value, vmid: u32) -> &Value {
    let vms = result["vms"].as_array().unwrap();
    vms.iter().find(|vm| vm["vmid"] == vmid).unwrap()
}

/// Three machines: two run, one does not.
fn three() -> Bench {
    let bench = with(LabConfig::default());
    bench.make(
        101,
        "web1",
        &[
            ("tags", "prod;web"),
            ("agent", "1"),
            ("net0", "virtio,bridge=vmbr0"),
            ("cipassword", "hunter2"),
        ],
    );
    bench.make(102, "web2", &[("tags", "web"), ("agent", "1"), ("net0", "virtio,bridge=vmbr0")]);
    bench.make(103, "db1", &[("tags", "prod"), ("agent", "1"), ("net0", "virtio,bridge=vmbr0")]);
    bench.start(101);
    bench.start(102);
    bench
}

#[test]
fn filters_are_joined() {
    let bench = three();
    for (args, expected) in [
        (json!({}), &["web1", "web2", "db1"][..]),
        (json!({"vmid": 102}), &["web2"]),
        (json!({"vmid": 999}), &[]),
        (json!({"name": "web*"}), &["web1", "web2"]),
        (json!({"name": "web"}), &[]),
        (json!({"name": "web?", "status": "running", "tags": ["PROD"]}), &["web1"]),
        (json!({"tags": ["prod", "web"]}), &["web1"]),
        (json!({"status": "stopped"}), &["db1"]),
        (json!({"node": "pve1"}), &["web1", "web2", "db1"]),
        (json!({"node": "pve2"}), &[]),
        (json!({"pool": "p"}), &[]),
    ] {
        let outcome = bench.module(args.clone()).run();
        assert!(!outcome.changed());
        assert_eq!(names(outcome.ok()), expected, "{args}");
    }
}

#[test]
fn taken_numbers_are_those_of_all_guests_whatever_is_asked_for() {
    let fleet = Fleet { guests: 3, containers: 100, ..Fleet::default() };
    let bench = with(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
    let containers = bench.module(json!({})).run().ok().clone();
    assert_eq!(containers["vms"], json!([]));
    let mut taken: Vec<u64> =
        containers["taken"].as_array().unwrap().iter().map(|n| n.as_u64().unwrap()).collect();
    assert_eq!(taken.len(), 3);
    bench.make(150, "web1", &[]);
    taken.push(150);
    taken.sort_unstable();
    for args in [json!({}), json!({"vmid": 999}), json!({"name": "db*", "node": "pve2"})] {
        assert_eq!(bench.module(args).check().run().ok()["taken"], json!(taken));
    }
    let token = bench.token("nobody", &[]);
    assert_eq!(bench.module(json!({})).args(token).run().ok()["taken"], json!([]));
}

#[test]
fn a36_one_that_cannot_say_gives_its_reason_and_the_others_their_data() {
    let bench = three();
    let config = bench.module(json!({"vmid": 102, "config": true})).run();
    let mac = vm(config.ok(), 102)["config_parsed"]["net0"]["macaddr"].as_str().unwrap().to_owned();
    let interfaces = json!([{
        "name": "ens18", "hardware-address": mac,
        "ip-addresses": [{"ip-address": "10.0.0.31", "ip-address-type": "ipv4", "prefix": 24}],
    }]);
    let answers = [("guest-network-get-interfaces".to_owned(), interfaces)].into();
    bench.lab.script_agent(102, AgentScript { answers, ..AgentScript::default() });
    bench.lab.script_agent(101, AgentScript { not_running: true, ..AgentScript::default() });
    bench.lab.fail_calls(
        "GET",
        "/qemu/103/status",
        9,
        CallFault::Proxy { status: 595, reason: "No route to host".into(), done: false },
    );
    let outcome = bench.module(json!({"address": true, "config": true})).run();
    let result = outcome.ok();
    assert_eq!(vm(result, 102)["address"], "10.0.0.31");
    assert_eq!(vm(result, 102)["address_source"], "agent");
    assert_eq!(vm(result, 102)["reason"], Value::Null);
    assert_eq!(vm(result, 101)["address"], Value::Null);
    assert_eq!(vm(result, 101)["address_reason"]["kind"], "agent_silent");
    assert_eq!(vm(result, 101)["config"]["tags"], "prod;web");
    // of the third no more is known than the list says
    assert_eq!(vm(result, 103)["name"], "db1");
    assert_eq!(vm(result, 103)["config"], Value::Null);
    assert_eq!(vm(result, 103)["address_reason"]["kind"], "failed");
    let reason = vm(result, 103)["reason"].as_str().unwrap();
    assert!(reason.contains("the cluster's proxy gave up (595 No route to host)"), "{reason}");
    outcome.hides("hunter2");
}

#[test]
fn a_stopped_one_says_that_it_does_not_run() {
    let bench = three();
    let outcome = bench.module(json!({"vmid": 103, "address": true})).run();
    let db = vm(outcome.ok(), 103).clone();
    assert_eq!((&db["status"], &db["address"]), (&json!("stopped"), &Value::Null));
    assert_eq!(db["address_reason"]["kind"], "not_running");
    assert_eq!(db["reason"], Value::Null);
}

#[test]
fn configuration_pending_values_and_snapshots() {
    let bench = three();
    set(&bench, 102, &[("memory", "1024"), ("onboot", "1")]);
    snapshot(&bench, 103, "pre", "before the upgrade");
    let outcome = bench.module(json!({"config": true, "snapshots": true})).check().run();
    let web = vm(outcome.ok(), 102).clone();
    assert_eq!(web["config"]["memory"], "1024");
    assert_eq!(web["pending"], json!({"memory": "1024"}));
    assert_eq!(web["config_parsed"]["onboot"], true);
    assert_eq!(web["config_parsed"]["memory"], json!({"current": "1024"}));
    assert_eq!(web["config_parsed"]["net0"]["bridge"], "vmbr0");
    assert_eq!(web["snapshots"], json!([]));
    let db = vm(outcome.ok(), 103).clone();
    assert_eq!(db["snapshots"][0]["name"], "pre");
    assert_eq!(db["snapshots"][0]["description"], "before the upgrade");
    assert_eq!(db["snapshots"].as_array().unwrap().len(), 1);
    // what was not asked for costs nothing
    bench.lab.clear_requests();
    assert_eq!(vm(bench.module(json!({"vmid": 102})).run().ok(), 102)["config"], Value::Null);
    assert_eq!(bench.lab.requests().len(), 2);
    assert!(bench.lab.requests().iter().all(|request| !request.is_write()));
}

#[test]
fn the_list_lags_and_the_machine_itself_does_not() {
    let lag = Duration::from_secs(60);
    let bench = with(LabConfig { lag, ..LabConfig::default() });
    bench.make(101, "web1", &[("tags", "web")]);
    bench.make(102, "db1", &[]);
    let outcome = bench.module(json!({"name": "web*", "tags": ["web"]})).run();
    assert_eq!(names(outcome.ok()), ["web1"]);
}

#[test]
fn a_fleet_is_read_a_few_at_a_time() {
    let fleet = Fleet { guests: 60, silent: 50, hostile: true, ..Fleet::default() };
    let config = LabConfig { fleet: Some(fleet), ..LabConfig::default() };
    let bench = with(config);
    let outcome = bench.module(json!({"config": true, "address": true, "snapshots": true})).run();
    let vms = outcome.ok()["vms"].as_array().unwrap().clone();
    assert!(vms.len() > 40, "{}", vms.len());
    assert!(vms.iter().all(|vm| vm["config"].is_object() && vm["reason"].is_null()));
    assert!(vms.iter().all(|vm| vm["address"].is_string() || vm["address_reason"].is_object()));
    assert!(vms.iter().any(|vm| vm["address"].is_string()));
}

#[test]
fn who_may_see_nothing_is_told() {
    let bench = three();
    let token = bench.token("nobody", &[]);
    let outcome = bench.module(json!({})).args(token).run();
    assert_eq!(outcome.ok()["vms"], json!([]));
    let warning = outcome.warnings().join(" ");
    assert!(warning.contains("has no privilege anywhere, so PVE lists no machine"), "{warning}");
}
