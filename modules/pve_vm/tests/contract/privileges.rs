//! What the caller may not do is said before the first write, with the remedy.

use pve_lab::{LabConfig, Start};
use serde_json::{Value, json};

use crate::support::{Bench, web, with};

fn bench() -> Bench {
    with(LabConfig { start: Start::Recordings, ..LabConfig::default() })
}

fn token(id: &str, last: &str) -> Value {
    json!({
        "api_token_id": id,
        "api_token_secret": format!("00000000-0000-4000-8000-00000000{last}"),
    })
}

fn wanted() -> Value {
    let mut args = web();
    args["image"] = "local:import/tiny.qcow2".into();
    args
}

#[test]
fn an_auditor_is_told_everything_that_is_missing() {
    let bench = bench();
    let auditor = token("viewer@pve!ro", "0002");
    for check in [true, false] {
        let module = bench.module(wanted()).args(auditor.clone());
        let outcome = if check { module.check().run() } else { module.run() };
        let message = outcome.failed();
        for text in [
            "token 'viewer@pve!ro' lacks VM.Allocate, VM.Config.CPU, ",
            "VM.PowerMgmt on /vms/201: grant a role that has it there; a token with privilege",
            "lacks Datastore.AllocateSpace on /storage/local",
            "lacks SDN.Use on /sdn/zones/localnetwork/vmbr0",
        ] {
            assert!(message.contains(text), "{message}");
        }
    }
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn only_what_changes_needs_privileges() {
    let bench = bench();
    let made = bench.module(wanted()).run();
    assert!(made.changed(), "{}", made.stdout);
    bench.forget();
    // nothing to change needs nothing but sight
    let auditor = token("viewer@pve!ro", "0002");
    let same = bench.module(wanted()).args(auditor.clone()).run();
    assert!(!same.changed());
    let cores = bench.module(json!({"vmid": 201, "cores": 4})).args(auditor).run();
    let message = cores.failed();
    assert!(message.contains("lacks VM.Config.CPU on /vms/201"), "{message}");
    assert!(!message.contains("SDN.Use"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
    // one who may change machines but not plug them into a network
    let operator = token("ops@pve!vm", "0003");
    let cores = bench.module(json!({"vmid": 201, "cores": 4})).args(operator.clone()).run();
    assert!(cores.changed(), "{}", cores.stdout);
    bench.forget();
    let net = json!({"vmid": 201, "net": {"net1": {"bridge": "vmbr1"}}});
    let net = bench.module(net).args(operator).run();
    assert!(
        net.failed().contains("lacks SDN.Use on /sdn/zones/localnetwork/vmbr1"),
        "{}",
        net.failed()
    );
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn a_guest_that_may_not_be_seen_is_not_made_again() {
    let bench = bench();
    assert!(bench.module(wanted()).run().changed());
    bench.forget();
    let blind = bench.module(wanted()).args(token("root@pam!nopriv", "0001")).run();
    let message = blind.failed();
    assert!(
        message.contains(
            "vmid 201 is taken by a guest that the caller may not see (vmid: VM 201 already exists)"
        ),
        "{message}"
    );
    assert_eq!(bench.writes(), [""; 0]);
}
