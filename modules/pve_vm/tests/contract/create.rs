//! Making machines.

use std::time::Duration;

use pve_lab::{CallFault, LabConfig};
use serde_json::json;

use crate::support::{bench, creations, web, with};

#[test]
fn b70_a_creation_is_foretold_then_made_then_left_alone() {
    let bench = bench();
    let module = bench.module(web()).diff();
    let check = module.clone().check().run();
    assert!(check.changed());
    assert_eq!(bench.writes(), [""; 0], "check mode writes nothing");
    assert_eq!(
        check.plan(),
        [
            "create vm web (201) on pve1 from local:import/debian-13.qcow2",
            "grow scsi0 of vm web (201) to 8G",
            "start vm web (201)",
        ]
    );
    assert_eq!(check.result["status"], "absent");
    let diff = check.result["diff"][0]["after"].as_str().unwrap();
    for line in ["cores: 2\n", "ide2: local:cloudinit\n", "ciupgrade: 0\n", "tags: demo;web\n"] {
        assert!(diff.contains(line), "{diff}");
    }

    let real = module.run();
    assert!(real.changed());
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.result["vmid"], 201);
    assert_eq!(real.result["status"], "running");
    assert_eq!(real.result["config"]["tags"], "demo;web");
    assert_eq!(real.result["config"]["ciupgrade"], "0");
    assert_eq!(real.result["upids"].as_array().unwrap().len(), 3);

    bench.forget();
    let again = module.run();
    assert!(!again.changed(), "{}", again.stdout);
    assert_eq!(
        bench.calls(),
        [
            "GET /cluster/resources",
            "GET /nodes/pve1/qemu/201/status/current",
            "GET /nodes/pve1/qemu/201/pending",
        ]
    );
}

#[test]
fn b09_a_name_is_found_again_before_the_cluster_knows_it() {
    let lag = Duration::from_secs(60);
    let bench = with(LabConfig { lag, ..LabConfig::default() });
    let module = bench.module(web()).without("vmid");
    let first = module.run();
    assert!(first.changed());
    bench.forget();
    let again = module.run();
    assert!(!again.changed(), "{}", again.stdout);
    assert_eq!(again.result["vmid"], first.result["vmid"]);
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn b71_what_was_left_half_done_is_finished_with_one_machine() {
    let bench = bench();
    let half = bench.module(web()).args(json!({"state": "present"})).without("tags").run();
    assert!(half.changed());
    let rest = bench.module(web()).run();
    assert_eq!(rest.plan(), ["set tags to \"demo;web\" on vm web (201)", "start vm web (201)"]);
    assert_eq!(rest.result["status"], "running");
    assert_eq!(creations(&bench), 1);
}

#[test]
fn two_tasks_at_once_get_a_number_each() {
    let bench = bench();
    let vmids: Vec<u64> = std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4)
            .map(|index| {
                let bench = &bench;
                scope.spawn(move || {
                    let args = json!({"name": format!("twin{index}"), "node": "pve1"});
                    bench.module(args).run().ok()["vmid"].as_u64().unwrap()
                })
            })
            .collect();
        runs.into_iter().map(|run| run.join().unwrap()).collect()
    });
    let mut unique = vmids.clone();
    unique.sort_unstable();
    unique.dedup();
    assert_eq!(unique.len(), vmids.len(), "{vmids:?}");
}

#[test]
fn a_password_is_found_nowhere() {
    let bench = bench();
    let module = bench.module(web()).arg("cipassword", "s3cret-hunter2").diff();
    for outcome in [module.clone().check().run(), module.run(), module.run()] {
        outcome.ok();
        outcome.hides("s3cret-hunter2").hides(&bench.secret());
    }
    let always = module.arg("update_password", "always").run();
    assert!(always.changed());
    always.hides("s3cret-hunter2");
}

#[test]
fn a_uefi_machine_is_left_alone_once_made() {
    let bench = bench();
    let module = bench.module(json!({
        "name": "uefi", "node": "pve1", "bios": "ovmf", "machine": "q35",
        "efidisk0": {"storage": "local", "efitype": "4m", "pre_enrolled_keys": true},
        "tpmstate0": {"storage": "local", "version": "v2.0"},
        "scsi": {"scsi0": {"storage": "local", "size": "1G"}},
        "virtio": {"virtio1": "local:2,discard=on"},
        "ide": {"ide2": "none"},
        "net": {"net0": "model=virtio,macaddr=bc:24:11:aa:bb:cc,bridge=vmbr0"},
    }));
    assert!(module.run().changed());
    let again = module.run();
    assert!(!again.changed(), "{}", again.stdout);
}

#[test]
fn b30_a_server_that_keeps_the_upgrade_flag_for_root() {
    let bench = bench();
    let refuse = || CallFault::Proxy {
        status: 500,
        reason: "only root can set 'ciupgrade' config".into(),
        done: false,
    };
    // asked for, its refusal names it
    bench.lab.fail_calls("POST", "/nodes/pve1/qemu", 1, refuse());
    let asked = bench.module(web()).arg("ciupgrade", false).run();
    assert!(asked.failed().contains("only root can set 'ciupgrade' config"), "{}", asked.failed());
    // not asked for, it is left out
    bench.lab.fail_calls("POST", "/nodes/pve1/qemu", 1, refuse());
    bench.forget();
    let unasked = bench.module(web()).run();
    assert!(unasked.changed(), "{}", unasked.stdout);
    assert!(unasked.warnings()[0].contains("the server does not take ciupgrade"));
    let sent = bench.writes().iter().filter(|call| *call == "POST /nodes/pve1/qemu").count();
    assert_eq!(sent, 2);
    assert!(unasked.result["config"].get("ciupgrade").is_none());
    assert!(!bench.module(web()).run().changed());
}
