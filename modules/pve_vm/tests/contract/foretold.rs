//! What PVE would refuse only when the time has come is refused before, in check mode too.

use harness::Outcome;
use pve_client::Form;
use pve_lab::{LabConfig, PveVersion};
use serde_json::{Value, json};

use crate::support::{Bench, bench, web};

/// The message of a task that is refused in check mode and in a run, in the same words.
fn refused(bench: &Bench, args: &Value) -> String {
    bench.forget();
    let said = |outcome: Outcome| outcome.failed().to_owned();
    let told = said(bench.module(args.clone()).check().run());
    assert_eq!(said(bench.module(args.clone()).run()), told, "{args}");
    assert_eq!(bench.writes(), [""; 0], "{args}");
    told
}

#[test]
fn a_pool_that_is_not_there() {
    let bench = bench();
    for pool in ["nopool", "outer/inner"] {
        let mut args = web();
        args["pool"] = json!(pool);
        let said = refused(&bench, &args);
        let text = format!("before anything was changed: pool: there is no pool {pool}: make it");
        assert!(said.starts_with(&text), "{said}");
    }
    let mut args = web();
    args["pool"] = json!("");
    assert!(refused(&bench, &args).contains("'' is not a pool"));
    bench.post("/pools", &[("poolid", "p1")]);
    args["pool"] = json!("p1");
    bench.module(args).run().ok();
    let copy = json!({"clone": "web", "name": "copy", "pool": "nopool"});
    assert!(refused(&bench, &copy).contains("there is no pool nopool"));
}

#[test]
fn b08_a_volume_to_attach_that_is_not_there() {
    let bench = bench();
    let new = json!({"vmid": 202, "name": "db", "node": "pve1", "scsi": {"scsi0": "local:999/vm-999-disk-0.raw"}});
    let said = refused(&bench, &new);
    assert!(said.contains("scsi0: local:999/vm-999-disk-0.raw is not on pve1"), "{said}");
    bench.module(web()).run().ok();
    let more = json!({"vmid": 201, "scsi": {"scsi1": "local:201/vm-201-disk-7.raw"}});
    let said = refused(&bench, &more);
    assert!(said.contains("scsi1: local:201/vm-201-disk-7.raw is not on pve1"), "{said}");
    // one that was detached is there
    let second = json!({"vmid": 201, "scsi": {"scsi1": "local:1"}});
    bench.module(second).run().ok();
    let detached = bench.module(json!({"vmid": 201, "scsi": {"scsi1": null}})).run();
    let volume = detached.ok()["config"]["unused0"].as_str().unwrap().to_owned();
    bench.forget();
    let again = bench.module(json!({"vmid": 201, "scsi": {"scsi2": volume}})).run();
    assert!(again.changed(), "{}", again.stdout);
    assert!(!bench.calls().iter().any(|call| call.contains("/storage")), "{:?}", bench.calls());
}

#[test]
fn b07_a_second_cloudinit_drive() {
    let bench = bench();
    bench.module(web()).run().ok();
    let said = refused(&bench, &json!({"vmid": 201, "sata": {"sata0": "local:cloudinit"}}));
    assert!(
        said.contains("ide2 and sata0 are cloud-init drives, and PVE takes one only"),
        "{said}"
    );
}

#[test]
fn b64_a_template_that_others_are_linked_to() {
    let bench = bench();
    bench.module(web()).arg("state", "template").run().ok();
    let copy = json!({"clone": "201", "full": false, "vmid": 202, "name": "copy"});
    bench.module(copy).run().ok();
    let said = refused(&bench, &json!({"vmid": 201, "state": "absent"}));
    assert!(said.contains("vm web (201) is what linked copies are made of"), "{said}");
    assert!(said.ends_with("vm 202"), "{said}");
    bench.module(json!({"vmid": 202, "state": "absent"})).run().ok();
    assert!(bench.module(json!({"vmid": 201, "state": "absent"})).run().changed());
}

#[test]
fn b54_growing_what_is_only_pending() {
    let bench = bench();
    bench.module(web()).run().ok();
    bench.module(json!({"vmid": 201, "ide": {"ide0": "local:1"}})).run().ok();
    let said = refused(&bench, &json!({"vmid": 201, "ide": {"ide0": {"size": "2G"}}}));
    assert!(said.contains("ide0: the machine gets this disk at its next start only"), "{said}");
    let image =
        json!({"storage": "local", "size": "4G", "import_from": "local:import/debian-13.qcow2"});
    let said = refused(&bench, &json!({"vmid": 201, "ide": {"ide1": image}}));
    assert!(said.contains("ide1: the machine runs and would get this disk at its next"), "{said}");
}

#[test]
fn b52_storages_on_the_other_node_that_are_not_there() {
    let bench = crate::support::with(LabConfig { nodes: 2, ..LabConfig::default() });
    bench.module(web()).run().ok();
    let to = |storages: &str| {
        json!({"vmid": 201, "node": "pve2", "migrate": true, "with_local_disks": true,
               "targetstorage": storages})
    };
    for (storages, text) in [
        ("nope", "targetstorage: pve2 has no storage nope that the caller may use; it has local"),
        ("local:nope", "targetstorage: pve2 has no storage nope"),
        ("l!", "targetstorage: 'l!' is not a storage"),
    ] {
        let said = refused(&bench, &to(storages));
        assert!(said.contains(text), "{said}");
    }
    let token = bench.token(
        "mover",
        &[("/vms", &["VM.Audit", "VM.Migrate"][..]), ("/storage", &["Datastore.Audit"])],
    );
    let mut args = to("1,local:local");
    args.as_object_mut().unwrap().extend(token.as_object().unwrap().clone());
    let said = refused(&bench, &args);
    assert!(said.contains("lacks Datastore.AllocateSpace on /storage/local"), "{said}");
    assert!(bench.module(to("1,local:local")).run().changed());
}

#[test]
fn a_volume_that_a_snapshot_needs_is_not_destroyed() {
    let bench = bench();
    bench.module(web()).run().ok();
    bench.done(201, async |qemu| qemu.create_snapshot("pre", Form::new()).await);
    let scsi1 = json!({"vmid": 201, "scsi": {"scsi1": {"storage": "local", "size": "1G", "format": "qcow2"}}});
    bench.module(scsi1).run().ok();
    bench.done(201, async |qemu| qemu.create_snapshot("later", Form::new()).await);
    bench.module(json!({"vmid": 201, "scsi": {"scsi1": null}})).run().ok();
    let destroy = json!({"vmid": 201, "unused": {"unused0": null}});
    let said = refused(&bench, &destroy);
    assert!(said.contains("unused0: snapshot later needs local:201/vm-201-disk-1.qcow2"), "{said}");
    assert!(!said.contains("snapshot pre"), "{said}");
    bench.done(201, async |qemu| qemu.delete_snapshot("later", false).await);
    assert!(bench.module(destroy).run().changed());
}

#[test]
fn a_device_that_is_not_let_go_of_is_named() {
    let bench = bench();
    bench.module(web()).run().ok();
    let outcome = bench.module(json!({"vmid": 201, "net": {"net0": null}})).run();
    let warnings = outcome.ok()["warnings"].to_string();
    assert!(
        warnings.contains("net0: hotplug problem - error on hot-unplugging device 'net0'")
            && warnings.contains("; it waits for the next stop and start"),
        "{warnings}"
    );
}

#[test]
fn b31_what_the_servers_version_does_not_know() {
    let new = json!({"allow-ksm": false});
    let old = json!({"scsi0": {"cyls": 10}});
    for (version, text, known, unknown) in [
        (PveVersion::V8, "allow-ksm: PVE 9.2 knows it, and this is 8.4.1", &old, &new),
        (PveVersion::V9, "scsi0: cyls: PVE 8.4 knew it, and this is 9.2.11", &new, &old),
    ] {
        let bench = crate::support::with(LabConfig { version, ..LabConfig::default() });
        bench.module(web()).arg("state", "present").run().ok();
        let said = refused(&bench, &json!({"vmid": 201, "config": unknown}));
        assert!(said.contains(text), "{said}");
        let taken = bench.module(json!({"vmid": 201, "config": known})).run();
        assert!(taken.changed(), "{}", taken.stdout);
    }
}
