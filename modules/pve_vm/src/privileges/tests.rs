//! What each change needs.

use super::*;
use crate::plan::plan;
use crate::tests::{guest, params};
use serde_json::{Value, json};

fn of(args: &Value, found: &Found) -> Vec<String> {
    let plan = plan(&params(args), found).unwrap();
    needs(found, &plan)
        .into_iter()
        .flat_map(|(path, needed)| {
            needed.into_iter().map(move |any| format!("{path} {}", any.join("|")))
        })
        .collect()
}

#[test]
fn only_what_the_plan_needs_is_asked_for() {
    let found =
        Found { guest: Some(guest(&json!({"net0": "virtio,bridge=vmbr0"}))), ..Found::default() };
    for (args, expected) in [
        (json!({"cores": 2}), &["/vms/100 VM.Config.CPU"][..]),
        (
            json!({"memory": 1024, "tags": ["a"]}),
            &["/vms/100 VM.Config.Memory", "/vms/100 VM.Config.Options"],
        ),
        (
            json!({"net": {"net0": {"bridge": "vmbr1", "tag": 7}}}),
            &["/sdn/zones/localnetwork/vmbr1/7 SDN.Use", "/vms/100 VM.Config.Network"],
        ),
        (
            json!({"scsi": {"scsi1": {"storage": "local", "size": "1G"}}}),
            &["/storage/local Datastore.AllocateSpace", "/vms/100 VM.Config.Disk"],
        ),
        (json!({"ide": {"ide2": "none"}}), &["/vms/100 VM.Config.CDROM"]),
        (json!({"ciupgrade": false}), &["/vms/100 VM.Config.Cloudinit|VM.Config.Network"]),
        (
            json!({"hostpci": {"hostpci0": {"mapping": "gpu"}}, "startup": "order=1"}),
            &[
                "/ Sys.Modify",
                "/mapping/pci/gpu Mapping.Use",
                "/vms/100 VM.Config.HWType",
                "/vms/100 VM.Config.Options",
            ],
        ),
        (json!({"state": "started"}), &["/vms/100 VM.PowerMgmt"]),
        (json!({"state": "absent"}), &["/vms/100 VM.Allocate"]),
    ] {
        assert_eq!(of(&args, &found), expected, "{args}");
    }
    for (args, expected) in [
        (json!({"args": "-no-reboot"}), true),
        (json!({"hostpci": {"hostpci0": "01:00.0"}}), true),
        (json!({"usb": {"usb0": "1234:5678"}}), true),
        (json!({"usb": {"usb0": "spice,usb3=1"}}), false),
        (json!({"usb": {"usb0": {"mapping": "key"}}}), false),
        (json!({"serial": {"serial0": "/dev/ttyS0"}}), true),
        (json!({"serial": {"serial0": "socket"}}), false),
        (json!({"rng0": {"source": "/dev/urandom"}}), false),
        (json!({"rng0": {"source": "/dev/hwrng"}}), true),
        (json!({"scsi": {"scsi3": "/dev/disk/by-id/ata-x"}}), true),
    ] {
        let plan = plan(&params(&args), &found).unwrap();
        let Change::Set(edit) = &plan[0] else { panic!("{args}") };
        assert_eq!(lines(&edit.set).any(|(key, line)| is_root_only(key, line)), expected);
    }
    let needed = of(&json!({"vmid": 201, "state": "started", "cores": 2}), &Found::default());
    assert_eq!(
        needed,
        [
            "/vms/201 VM.Allocate",
            "/vms/201 VM.Audit",
            "/vms/201 VM.Config.CPU",
            "/vms/201 VM.Config.Options",
            "/vms/201 VM.PowerMgmt",
        ]
    );
}
