//! Every scenario of `docs/privileges.yml` with exactly the privileges that it says, and with one
//! less.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use harness::Module;
use pve_lab::{AgentScript, Lab, LabConfig, PveVersion, scenarios};
use serde_json::{Value, json};

fn module(lab: &Lab, id: &str, secret: &str, args: Value) -> Module {
    Module::new(env!("CARGO_BIN_EXE_pve_vm"))
        .args(json!({
            "api_host": "127.0.0.1", "api_port": lab.port(),
            "api_token_id": id, "api_token_secret": secret,
            "api_fingerprint": lab.fingerprint(),
        }))
        .args(args)
}

/// Makes what a scenario begins with.
fn prepare(lab: &Lab, before: &str) {
    let (id, secret) = lab.token();
    let run = |args: Value| module(lab, &id, &secret, args).run().ok().clone();
    let (vmid, state) = match before {
        "nothing" => return,
        "pool" => return lab.add_pool("prod"),
        "machine" => (201, "present"),
        "two storages" => (201, "present"),
        "running" => (201, "started"),
        "template" => (900, "template"),
        "backup" => (900, "present"),
        other => panic!("nobody knows how to prepare '{other}'"),
    };
    let made = run(json!({
        "vmid": vmid, "name": "first", "node": "pve1", "state": state,
        "image": "local:import/debian-13.qcow2", "agent": true,
        "net": {"net0": "virtio,bridge=vmbr0"},
        "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
        "ciuser": "admin",
    }));
    if before == "two storages" {
        lab.add_storage("fast");
    }
    if before == "backup" {
        lab.back_up(vmid);
    }
    let mac = made["config"]["net0"].as_str().unwrap();
    let mac = mac.strip_prefix("virtio=").unwrap().split(',').next().unwrap();
    let interfaces = json!([{
        "name": "ens18", "hardware-address": mac,
        "ip-addresses": [{"ip-address": "10.0.0.31", "ip-address-type": "ipv4", "prefix": 24}],
    }]);
    let answers = [("guest-network-get-interfaces".to_owned(), interfaces)].into();
    lab.script_agent(vmid, AgentScript { answers, ..AgentScript::default() });
}

fn prove(version: PveVersion) {
    let mut wrong = Vec::new();
    for scenario in scenarios("pve_vm") {
        let lab = || {
            let lab = Lab::start(LabConfig { version, nodes: 2, ..LabConfig::default() });
            prepare(&lab, &scenario.before);
            lab
        };
        wrong.extend(scenario.prove(version, lab, |lab, id, secret| {
            let outcome = module(lab, id, secret, scenario.options.clone()).run();
            match outcome.result["msg"].as_str() {
                Some(message) if outcome.result["failed"] == true => Err(message.to_owned()),
                // a read of what may not be seen finds nothing
                _ if outcome.result["status"] == "absent" && scenario.reads => {
                    Err("there is none, or the caller may not see it".to_owned())
                }
                _ if outcome.result["changed"] == scenario.reads => {
                    Err(format!("it changed nothing, or too much: {}", outcome.stdout))
                }
                _ => Ok(()),
            }
        }));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn pve_9_needs_exactly_what_is_written() {
    prove(PveVersion::V9);
}

#[test]
fn pve_8_needs_exactly_what_is_written() {
    prove(PveVersion::V8);
}
