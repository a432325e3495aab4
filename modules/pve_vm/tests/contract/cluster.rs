//! More than one node, and an older PVE.

use pve_lab::{Fleet, LabConfig, PveVersion};
use serde_json::json;

use crate::support::{Bench, web, with};

/// Three nodes and a few guests: 100 on pve1, 101 on pve2, 102 on pve3, ...
fn cluster() -> Bench {
    let fleet = Fleet { guests: 6, containers: 0, stopped: 0, ..Fleet::default() };
    with(LabConfig { fleet: Some(fleet), ..LabConfig::default() })
}

#[test]
fn b52_a_machine_is_worked_on_where_it_is() {
    let bench = cluster();
    let args = json!({"vmid": 102, "node": "pve1", "onboot": true, "description": "moved by HA"});
    let outcome = bench.module(args.clone()).run();
    assert!(outcome.changed());
    assert_eq!(outcome.result["node"], "pve3");
    assert!(
        outcome.warnings()[0].contains("is on pve3, not on pve1; it was worked on where it is")
    );
    assert_eq!(bench.writes(), ["PUT /nodes/pve3/qemu/102/config"]);
    assert!(!bench.module(args).run().changed());
}

#[test]
fn a19_a_node_that_is_down_does_not_lead_to_a_second_machine() {
    let bench = cluster();
    let name = |vmid: u32| {
        let current = bench.module(json!({"vmid": vmid, "state": "current"})).run();
        current.ok()["name"].as_str().unwrap().to_owned()
    };
    let (here, there) = (name(100), name(101));
    bench.lab.set_offline("pve2", true);
    bench.forget();
    // one that is elsewhere is found all the same
    assert_eq!(bench.module(json!({"name": here, "state": "current"})).run().ok()["vmid"], 100);
    let lost = bench.module(json!({"name": there, "node": "pve1"})).run();
    let message = lost.failed();
    assert!(message.contains("it cannot be told whether a machine called"), "{message}");
    assert!(message.contains("vm 101 on pve2"), "{message}");
    // b67: whether it is the only one of its name is not known
    let gone = json!({"name": here, "state": "absent", "force": true});
    for module in [bench.module(gone.clone()), bench.module(gone).check()] {
        let outcome = module.run();
        let message = outcome.failed();
        let text =
            format!("it cannot be told whether 100 on pve1 is the only machine called {here}");
        assert!(message.contains(&text) && message.contains("vm 101 on pve2"), "{message}");
    }
    let known = bench.module(json!({"vmid": 101, "onboot": true})).run();
    assert!(known.failed().contains("failed to read vm 101 on pve2"), "{}", known.failed());
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn pve_8_is_served_alike() {
    let bench = with(LabConfig { version: PveVersion::V8, ..LabConfig::default() });
    let module = bench.module(web()).args(json!({"wait_for": "address", "wait_timeout": 20}));
    assert!(module.clone().check().run().changed());
    let real = module.run();
    assert!(real.changed(), "{}", real.stdout);
    assert_eq!(real.result["address_source"], "agent");
    assert!(!module.run().changed());
}
