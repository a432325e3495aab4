//! What the caller must be allowed for a plan, by the rules of PVE's own checks
//! (`check_vm_modify_config_perm` in `PVE/API2/Qemu.pm`).

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{Client, Permissions};
use pve_types::property::{Disk, DiskSource, NetDevice};
use pve_types::slot;

use crate::change::Change;
use crate::found::Found;
use crate::plan::cloudinit::is_cloudinit;
use crate::preflight::guest_path;

/// Paths and what is needed there; of each list one is enough.
type Needs = BTreeMap<String, BTreeSet<Vec<&'static str>>>;

/// Looks for privileges that are missing.
pub(crate) async fn check(
    client: &Client,
    found: &Found,
    plan: &[Change],
    problems: &mut Vec<String>,
) {
    for (path, needed) in needs(found, plan) {
        let Ok(granted) = client.permissions(Some(&path)).await else { return };
        problems.extend(missing(client, &granted, &path, &needed));
    }
}

fn missing(
    client: &Client,
    granted: &Permissions,
    path: &str,
    needed: &BTreeSet<Vec<&'static str>>,
) -> Option<String> {
    let lacking: Vec<String> = needed
        .iter()
        .filter(|any| !any.iter().any(|privilege| granted.has(path, privilege)))
        .map(|any| any.join(" or "))
        .collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "{} lacks {} on {path}: grant a role that has it there; a token with privilege \
             separation needs it for itself as well",
            client.caller(),
            lacking.join(", ")
        )
    })
}

fn needs(found: &Found, plan: &[Change]) -> Needs {
    let mut needs = Needs::new();
    let mut vmid = found.guest.as_ref().map(|guest| guest.vmid);
    let mut add = |path: String, any: &[&'static str]| {
        needs.entry(path).or_default().insert(any.to_vec());
    };
    for change in plan {
        match change {
            Change::Create(creation) => {
                vmid = creation.vmid;
                // a pool's members get what is granted on the pool
                if creation.pool.is_some() {
                    continue;
                }
                let path = guest_path(vmid);
                add(path.clone(), &["VM.Allocate"]);
                for (key, line) in &creation.config {
                    add(path.clone(), of_key(key, line));
                    resources(key, line, &mut add);
                }
            }
            Change::Set(edit) => {
                for (key, line) in &edit.set {
                    add(guest_path(vmid), of_key(key, line));
                    if edit.before.get(key) != Some(line) {
                        resources(key, line, &mut add);
                    }
                }
                for key in &edit.delete {
                    let before = edit.before.get(key).map(String::as_str).unwrap_or_default();
                    add(guest_path(vmid), of_key(key, before));
                }
            }
            Change::Grow { .. } => add(guest_path(vmid), &["VM.Config.Disk"]),
            Change::Regenerate { .. } => add(guest_path(vmid), &["VM.Config.Cloudinit"]),
            Change::Start { .. } | Change::Resume { .. } | Change::Shutdown { .. } => {
                add(guest_path(vmid), &["VM.PowerMgmt"]);
            }
            Change::Destroy { .. } => add(guest_path(vmid), &["VM.Allocate"]),
        }
    }
    needs
}

/// What a drive or an interface needs elsewhere.
fn resources(key: &str, line: &str, add: &mut impl FnMut(String, &[&'static str])) {
    match slot(key) {
        Some(("net", _)) => {
            let net = NetDevice::new(line);
            // of an SDN zone the zone's name would be needed as well
            if let Some(bridge) = net.bridge().filter(|bridge| bridge.starts_with("vmbr")) {
                let mut path = format!("/sdn/zones/localnetwork/{bridge}");
                if let Some(tag) = net.get("tag") {
                    path = format!("{path}/{tag}");
                }
                add(path, &["SDN.Use"]);
            }
        }
        _ => match Disk::new(line).source() {
            Some(DiskSource::Allocate { storage, .. } | DiskSource::NewCloudInit(storage))
                if crate::plan::create::is_drive(key) =>
            {
                add(format!("/storage/{storage}"), &["Datastore.AllocateSpace"]);
            }
            _ => {}
        },
    }
}

/// The privilege on the machine that a key needs.
fn of_key(key: &str, line: &str) -> &'static [&'static str] {
    if is_cloudinit(key) {
        return &["VM.Config.Cloudinit", "VM.Config.Network"];
    }
    match key {
        "affinity" | "cores" | "cpu" | "cpulimit" | "cpuunits" | "numa" | "sockets" | "vcpus" => {
            &["VM.Config.CPU"]
        }
        "balloon" | "memory" | "shares" => &["VM.Config.Memory"],
        "acpi" | "hotplug" | "kvm" | "machine" | "rng0" | "scsihw" | "smbios1" | "tablet"
        | "vga" | "watchdog" => &["VM.Config.HWType"],
        "boot" | "vmstatestorage" => &["VM.Config.Disk"],
        _ => match slot(key) {
            Some(("net", _)) => &["VM.Config.Network"],
            Some(("serial", _)) => &["VM.Config.HWType"],
            Some(("ide" | "sata" | "scsi" | "virtio", _)) => {
                let disk = Disk::new(line);
                if disk.is_cdrom() && !disk.is_cloudinit() {
                    &["VM.Config.CDROM"]
                } else {
                    &["VM.Config.Disk"]
                }
            }
            Some(("efidisk" | "tpmstate" | "unused", _)) => &["VM.Config.Disk"],
            _ => &["VM.Config.Options"],
        },
    }
}

#[cfg(test)]
mod tests {
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
            Found { guest: Some(guest(&json!({"net0": "virtio,bridge=vmbr0"}))), address: None };
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
            (json!({"state": "started"}), &["/vms/100 VM.PowerMgmt"]),
            (json!({"state": "absent"}), &["/vms/100 VM.Allocate"]),
        ] {
            assert_eq!(of(&args, &found), expected, "{args}");
        }
        let needed = of(&json!({"vmid": 201, "state": "started", "cores": 2}), &Found::default());
        assert_eq!(
            needed,
            [
                "/vms/201 VM.Allocate",
                "/vms/201 VM.Config.CPU",
                "/vms/201 VM.Config.Cloudinit|VM.Config.Network",
                "/vms/201 VM.Config.Options",
                "/vms/201 VM.PowerMgmt",
            ]
        );
    }
}
