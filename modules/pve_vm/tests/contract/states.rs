//! Every state from every state, moves, and what waits for a restart.

use pve_lab::{Fleet, LabConfig};
use serde_json::json;

use crate::support::{Bench, bench, web, with};

/// The states of power and what the server calls each.
const STATES: [(&str, &str); 4] = [
    ("stopped", "stopped"),
    ("started", "running"),
    ("paused", "paused"),
    ("hibernated", "stopped"),
];

#[test]
fn b76_every_state_is_reached_from_every_state() {
    let bench = bench();
    for (from, _) in STATES {
        for (to, status) in STATES {
            bench.module(web()).arg("state", from).run().ok();
            let module = bench.module(json!({"vmid": 201, "state": to, "wait_timeout": 20}));
            let check = module.clone().check().run();
            // what is hibernated has stopped
            let same = from == to || (from, to) == ("hibernated", "stopped");
            assert_eq!(check.changed(), !same, "{from} to {to}");
            let real = module.run();
            assert_eq!(real.plan(), check.plan(), "{from} to {to}");
            assert_eq!(real.result["status"], status, "{from} to {to}");
            let again = module.run();
            assert!(!again.changed(), "{from} to {to}: {}", again.stdout);
        }
    }
}

#[test]
fn a_new_machine_is_brought_to_each_state() {
    let bench = bench();
    for (number, (state, status)) in (301..).zip(STATES) {
        let module = bench.module(json!({"vmid": number, "node": "pve1", "state": state}));
        let check = module.clone().check().run();
        let real = module.run();
        assert!(real.changed());
        assert_eq!(real.plan(), check.plan());
        assert_eq!(real.result["status"], status);
        assert!(!module.run().changed(), "{state}");
    }
}

#[test]
fn a_restart_is_over_when_the_machine_runs_again() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    for force in [false, true] {
        let before = pid(&bench, 201);
        let module = bench.module(json!({"vmid": 201, "state": "restarted", "force": force}));
        assert!(module.clone().check().run().plan()[0].starts_with("restart vm web (201)"));
        assert_eq!(pid(&bench, 201), before);
        let real = module.run();
        assert!(real.changed(), "{}", real.stdout);
        assert_eq!(real.result["status"], "running");
        assert_ne!(pid(&bench, 201), before, "another process");
    }
}

#[test]
fn b55_a_machine_is_restarted_only_if_it_is_asked_for_and_needed() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    let before = pid(&bench, 201);
    let memory = bench.module(json!({"vmid": 201, "memory": 2048})).run();
    assert_eq!(memory.result["reboot_required"], true);
    assert_eq!(pid(&bench, 201), before);
    // something is pending already
    let wished = bench.module(json!({"vmid": 201, "memory": 2048, "reboot": "if_required"}));
    let check = wished.clone().check().run();
    assert_eq!(check.plan(), ["restart vm web (201) within 120 s, which brings memory into force"]);
    let real = wished.run();
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.result["reboot_required"], false);
    assert!(!real.warnings().iter().any(|line| line.contains("needs a stop and start")));
    assert_eq!(real.result["status"], "running");
    assert_ne!(pid(&bench, 201), before);
    assert!(!wished.run().changed());
    // what is set needs no restart, and what needs one gets it
    for (args, restarts) in [(json!({"description": "x"}), false), (json!({"cores": 3}), true)] {
        let before = pid(&bench, 201);
        let module = bench.module(json!({"vmid": 201, "reboot": "if_required"})).args(args.clone());
        assert!(module.run().changed());
        assert_eq!(pid(&bench, 201) != before, restarts, "{args}");
        assert!(!module.run().changed(), "{args}");
    }
    // the setting of the same name is still there
    let setting = bench.module(json!({"vmid": 201, "reboot": false})).run();
    assert_eq!(setting.result["config"]["reboot"], "0");
}

#[test]
fn a_disk_is_moved_only_when_that_is_asked_for() {
    let bench = bench();
    bench.post(
        "/storage",
        &[("storage", "fast"), ("type", "dir"), ("path", "/mnt/fast"), ("content", "images")],
    );
    assert!(bench.module(web()).arg("state", "present").run().changed());
    bench.forget();
    let module = bench.module(json!({
        "vmid": 201, "scsi": {"scsi0": {"storage": "fast", "size": "9G", "discard": true}},
    }));
    let refused = module.run();
    let message = refused.failed();
    assert!(message.contains("is on storage local, not on fast: set move to true"), "{message}");
    assert_eq!(bench.writes(), [""; 0]);
    let module = module.arg("move", true);
    let check = module.clone().check().run();
    let real = module.run();
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.plan()[1], "move scsi0 of vm web (201) from storage local to fast");
    let line = real.result["config"]["scsi0"].as_str().unwrap();
    assert!(line.starts_with("fast:201/"), "{line}");
    assert!(line.contains("discard=on") && line.ends_with("size=9G"), "{line}");
    assert!(real.result["config"].get("unused0").is_none());
    assert!(!module.run().changed());
}

#[test]
fn a_disk_taken_out_is_kept_until_it_is_taken_away_by_its_own_name() {
    let bench = bench();
    let args = json!({"scsi": {"scsi1": {"storage": "local", "size": "1G"}}, "vmid": 201,
                      "node": "pve1"});
    assert!(bench.module(args).run().changed());
    let out = bench.module(json!({"vmid": 201, "scsi": {"scsi1": null}})).run();
    let volume = out.result["config"]["unused0"].as_str().unwrap().to_owned();
    let back = bench.module(json!({"vmid": 201, "scsi": {"scsi1": volume}}));
    assert!(back.run().changed());
    assert!(!back.run().changed());
    assert!(bench.module(json!({"vmid": 201, "delete": ["scsi1"]})).run().changed());
    let gone = bench.module(json!({"vmid": 201, "unused": {"unused0": null}})).run();
    assert!(gone.plan()[0].contains("and destroy its volume"), "{:?}", gone.plan());
    assert!(gone.result["config"].get("unused0").is_none());
}

#[test]
fn b53_a_machine_is_moved_to_its_node_and_changed_there() {
    let fleet = Fleet { guests: 3, containers: 0, stopped: 0, ..Fleet::default() };
    let bench = with(LabConfig { fleet: Some(fleet), ..LabConfig::default() });
    let args = json!({"vmid": 100, "node": "pve2", "migrate": true, "description": "moved"});
    bench.forget();
    let local = bench.module(args.clone()).run();
    let message = local.failed();
    assert!(message.contains("has volumes that only pve1 has"), "{message}");
    let nowhere = bench.module(args.clone()).arg("node", "pve9").run();
    assert!(nowhere.failed().contains("there is no node pve9"), "{}", nowhere.failed());
    let offline = bench.module(args.clone()).arg("online", false).run();
    assert!(offline.failed().contains("is running on pve1 and may not be moved while it does"));
    assert_eq!(bench.writes(), [""; 0]);
    let module = bench.module(args).arg("with_local_disks", true);
    let check = module.clone().check().run();
    assert!(check.plan()[0].ends_with("from pve1 to pve2 while it runs"), "{:?}", check.plan());
    let real = module.run();
    assert_eq!(real.plan(), check.plan());
    assert_eq!((&real.result["node"], &real.result["status"]), (&json!("pve2"), &json!("running")));
    assert!(!module.run().changed());
    assert_eq!(
        bench.writes(),
        ["POST /nodes/pve1/qemu/100/migrate", "PUT /nodes/pve2/qemu/100/config"]
    );
}

#[test]
fn a_machine_of_ha_is_not_stopped_before_it_is_refused() {
    let bench = bench();
    assert!(bench.module(web()).run().changed());
    bench.post("/cluster/ha/resources", &[("sid", "vm:201")]);
    bench.forget();
    let absent = bench.module(json!({"vmid": 201, "state": "absent", "force": true})).run();
    assert!(absent.failed().contains("vm web (201) is looked after by HA"), "{}", absent.failed());
    assert_eq!(bench.writes(), [""; 0]);
}

/// The process of a machine.
fn pid(bench: &Bench, vmid: u32) -> Option<u64> {
    bench.qemu(vmid, async |qemu| qemu.status().await).unwrap().pid
}

/// What a machine of each state becomes when each is wanted, with the leave to stop it: its status,
/// or why not.
#[test]
fn every_state_from_every_state_is_foretold_reached_and_kept() {
    const WANTED: [&str; 8] = [
        "present",
        "started",
        "stopped",
        "restarted",
        "paused",
        "hibernated",
        "template",
        "absent",
    ];
    let bench = bench();
    let template = "is a template, which cannot be started";
    let asleep = "is hibernated, and PVE changes nothing of it until it goes on";
    for (from, becomes) in [
        (
            "absent",
            ["stopped", "running", "stopped", "running", "paused", "stopped", "stopped", "absent"],
        ),
        (
            "stopped",
            ["stopped", "running", "stopped", "running", "paused", "stopped", "stopped", "absent"],
        ),
        (
            "started",
            ["running", "running", "stopped", "running", "paused", "stopped", "stopped", "absent"],
        ),
        (
            "paused",
            ["paused", "running", "stopped", "running", "paused", "stopped", "stopped", "absent"],
        ),
        (
            "hibernated",
            ["stopped", "running", "stopped", "running", "paused", "stopped", asleep, "absent"],
        ),
        (
            "template",
            ["stopped", template, "stopped", template, template, template, "stopped", "absent"],
        ),
    ] {
        for (wanted, status) in WANTED.into_iter().zip(becomes) {
            bench.module(json!({"vmid": 201, "state": "absent", "force": true})).run().ok();
            if from != "absent" {
                assert!(bench.module(web()).arg("state", from).run().changed(), "{from}");
            }
            let module = bench.module(web()).arg("state", wanted).arg("force", true);
            let check = module.clone().check().run();
            let real = module.run();
            if status.contains(' ') {
                assert!(check.failed().contains(status), "{from} to {wanted}: {}", check.stdout);
                assert_eq!(check.failed(), real.failed(), "{from} to {wanted}");
                continue;
            }
            assert_eq!(check.ok()["plan"], real.ok()["plan"], "{from} to {wanted}");
            assert_eq!(check.changed(), real.changed(), "{from} to {wanted}");
            assert_eq!(real.result["status"], status, "{from} to {wanted}");
            let again = module.run();
            assert_eq!(again.changed(), wanted == "restarted", "{from} to {wanted} again");
            assert_eq!(again.result["status"], status, "{from} to {wanted} again");
        }
    }
}
