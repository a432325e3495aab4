//! Machines restored from backups.

use pve_lab::CallFault;
use serde_json::{Value, json};

use crate::support::{Bench, web};

/// A lab with a backup of machine 201, which is gone.
fn bench() -> (Bench, String) {
    let bench = crate::support::bench();
    assert!(bench.module(web()).arg("state", "present").run().changed());
    let archive = bench.lab.back_up(201);
    assert!(bench.module(json!({"vmid": 201, "state": "absent"})).run().changed());
    bench.forget();
    (bench, archive)
}

fn restored(archive: &str) -> Value {
    json!({
        "vmid": 201, "name": "web", "node": "pve1", "archive": archive, "state": "started",
        "cores": 4, "scsi": {"scsi0": {"size": "9G"}},
    })
}

#[test]
fn a_machine_is_restored_changed_and_started_in_one_task() {
    let (bench, archive) = bench();
    let module = bench.module(restored(&archive));
    let check = module.clone().check().run();
    assert_eq!(
        check.plan(),
        [
            format!("restore vm web (201) on pve1 from {archive}"),
            "set cores to \"4\" (was \"2\") on vm web (201)".into(),
            "grow scsi0 of vm web (201) from 8G to 9G".into(),
            "start vm web (201)".into(),
        ]
    );
    assert_eq!(bench.writes(), [""; 0]);
    let real = module.run();
    assert!(real.changed(), "{}", real.stdout);
    assert_eq!(real.plan(), check.plan());
    assert_eq!(real.result["config"]["cores"], "4");
    assert_eq!(real.result["config_parsed"]["net0"]["bridge"], "vmbr0");
    assert!(!module.run().changed());
}

#[test]
fn what_cannot_be_read_in_a_backup_is_found_out_when_it_is_there() {
    let (bench, archive) = bench();
    let fault = CallFault::Proxy { status: 500, reason: "no".into(), done: false };
    bench.lab.fail_calls("GET", "/vzdump/extractconfig", 9, fault);
    let real = bench.module(restored(&archive)).run();
    assert!(real.changed(), "{}", real.stdout);
    assert_eq!(real.plan()[1], "set what differs on vm web (201)");
    assert!(real.warnings()[0].contains("so what differs from it is told only when"));
    let config = &real.result["config"];
    assert_eq!(config["cores"], "4");
    assert!(config["scsi0"].as_str().unwrap().ends_with("size=9G"), "{config}");
    assert!(!bench.module(restored(&archive)).run().changed());
}

#[test]
fn a_backup_that_is_not_there_is_named_before_anything_is_written() {
    let (bench, _) = bench();
    let missing = "local:backup/vzdump-qemu-100-2026_01_01-00_00_00.vma.zst";
    let refused = bench.module(restored(missing)).run();
    assert!(
        refused.failed().contains(&format!("archive: {missing} is not on pve1; there is")),
        "{}",
        refused.failed()
    );
    assert_eq!(bench.writes(), [""; 0]);
}
