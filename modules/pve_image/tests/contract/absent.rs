//! Removing a file.

use harness::check_apply_again;
use pve_client::Form;
use serde_json::json;

use crate::support::{bench, files};

#[test]
fn only_the_volume_that_is_named_goes() {
    let bench = bench();
    for name in ["x.raw", "x.raw.qcow2", "y.raw"] {
        bench.lab.put_file("pve1", &format!("local:import/{name}"), b"x");
    }
    bench.lab.put_file("pve1", "local:iso/x.iso", b"x");
    let task = json!({"volid": "local:import/x.raw", "state": "absent"});
    let cycle = check_apply_again(&bench.module(task), || files(&bench));
    assert_eq!(cycle.check.plan(), ["remove local:import/x.raw from pve1"]);
    assert_eq!(files(&bench), ["import/x.raw.qcow2", "import/y.raw", "iso/x.iso"]);
    let task = json!({"storage": "local", "name": "x.iso", "content": "iso", "state": "absent"});
    assert!(bench.module(task.clone()).run().changed());
    // a missing one is fine
    bench.forget();
    assert!(!bench.module(task).run().changed());
    assert_eq!(bench.writes(), [""; 0]);
}

#[test]
fn a_file_that_a_machine_uses_stays() {
    let bench = bench();
    bench.lab.put_file("pve1", "local:iso/x.iso", b"x");
    bench.make(101, "web", &[("ide2", "local:iso/x.iso,media=cdrom")]);
    bench.forget();
    let task = json!({"volid": "local:iso/x.iso", "state": "absent"});
    for module in [bench.module(task.clone()), bench.module(task).check()] {
        let failed = module.run();
        let message = failed.failed();
        assert!(
            message.contains(
                "local:iso/x.iso is used by vm 101 on pve1 (ide2): take it out there first"
            ),
            "{message}"
        );
    }
    assert_eq!((bench.writes(), files(&bench)), (vec![], vec!["iso/x.iso".to_owned()]));
}

#[test]
fn a_file_that_a_snapshot_goes_back_to_stays() {
    let bench = bench();
    bench.lab.put_file("pve1", "local:iso/x.iso", b"x");
    let drives = [("ide2", "local:iso/x.iso,media=cdrom"), ("scsi0", "local:1,format=qcow2")];
    bench.make(101, "web", &drives);
    bench.done(101, async |qemu| qemu.create_snapshot("pre", Form::new()).await);
    bench.qemu(101, async |qemu| {
        qemu.set_config(&Form::new().text("ide2", "none,media=cdrom")).await.unwrap();
    });
    let task = json!({"volid": "local:iso/x.iso", "state": "absent"});
    let failed = bench.module(task.clone()).run();
    let message = failed.failed();
    assert!(message.contains("used by vm 101 on pve1 (ide2 of snapshot pre)"), "{message}");
    bench.done(101, async |qemu| qemu.delete_snapshot("pre", false).await);
    assert!(bench.module(task).run().changed());
}

#[test]
fn b38_what_is_no_image_file_is_not_removed() {
    let bench = bench();
    for (volid, text) in [
        ("local:110/vm-110-disk-0.raw", "is no image file (import, iso, vztmpl)"),
        ("local:backup/vzdump-qemu-1.vma.zst", "is no image file"),
        ("/var/lib/vz/import/x.raw", "STORAGE:VOLUME"),
        ("local:import/../../etc/x.raw", "is no file's name on a storage"),
    ] {
        let failed = bench.module(json!({"volid": volid, "state": "absent"})).run();
        assert!(failed.failed().contains(text), "{}", failed.failed());
    }
    assert!(bench.calls().is_empty(), "{:?}", bench.calls());
}
