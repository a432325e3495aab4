//! What a plan needs, by the places where it is granted.

use std::collections::{BTreeMap, BTreeSet};

use pve_types::property::{Disk, DiskSource, NetDevice};
use pve_types::{Setting, Vmid, VolId, slot};

use super::keys::of_key;
use crate::change::{Change, From};
use crate::found::Found;
use crate::plan::create::is_drive;
use crate::preflight::guest_path;

/// Paths and what is needed there; of each list one is enough.
pub(super) type Needs = BTreeMap<String, BTreeSet<Vec<&'static str>>>;

/// What shows the volumes of a storage.
const READ: &[&str] = &["Datastore.Audit", "Datastore.AllocateSpace"];

/// What a plan needs.
pub(super) fn needs(found: &Found, plan: &[Change]) -> Needs {
    let mut needs = Needs::new();
    let mut vmid = found.guest.as_ref().map(|guest| guest.vmid);
    let mut add = |path: String, any: &[&'static str]| {
        needs.entry(path).or_default().insert(any.to_vec());
    };
    for change in plan {
        match change {
            Change::Create(creation) => {
                vmid = creation.vmid;
                let path = guest_path(vmid);
                add(path.clone(), &["VM.Allocate"]);
                // what was made is read back
                add(path.clone(), &["VM.Audit"]);
                match &creation.from {
                    From::Config { .. } => {
                        for (key, line) in &creation.config {
                            add(path.clone(), of_key(key, line));
                            resources(key, line, &mut add);
                        }
                        continue;
                    }
                    From::Clone { vmid: of, .. } => add(guest_path(Some(*of)), &["VM.Clone"]),
                    From::Archive { archive, .. } => {
                        let storage = format!("/storage/{}", archive.storage);
                        add(storage, &["Datastore.AllocateSpace", "Datastore.Allocate"]);
                        if let Some(owner) = owner(archive) {
                            add(format!("/vms/{owner}"), &["VM.Backup"]);
                        }
                    }
                }
                for (key, line) in &creation.config {
                    copied(key, line, &mut add);
                }
            }
            Change::Set(edit) => {
                for (key, line) in &edit.set {
                    add(guest_path(vmid), of_key(key, line));
                    if edit.before.get(key) != Some(line) {
                        resources(key, line, &mut add);
                    }
                }
                for key in edit.revert.keys() {
                    let now = found.guest.as_ref().and_then(|guest| guest.running_config.get(key));
                    add(guest_path(vmid), of_key(key, now.map_or("", String::as_str)));
                }
                for key in &edit.delete {
                    let before = edit.before.get(key).map(String::as_str).unwrap_or_default();
                    add(guest_path(vmid), of_key(key, before));
                }
            }
            Change::Grow { .. } => add(guest_path(vmid), &["VM.Config.Disk"]),
            Change::Regenerate { .. } => add(guest_path(vmid), &["VM.Config.Cloudinit"]),
            Change::Power { .. } => add(guest_path(vmid), &["VM.PowerMgmt"]),
            Change::Migrate(migration) => {
                add(guest_path(vmid), &["VM.Migrate"]);
                for storage in migration.storages() {
                    add(format!("/storage/{storage}"), &["Datastore.AllocateSpace"]);
                }
            }
            Change::Move { to, .. } => {
                add(guest_path(vmid), &["VM.Config.Disk"]);
                add(format!("/storage/{to}"), &["Datastore.AllocateSpace"]);
            }
            Change::Template { .. } | Change::Destroy { .. } => {
                add(guest_path(vmid), &["VM.Allocate"]);
            }
        }
    }
    needs
}

/// What a drive or an interface needs elsewhere that comes with what a machine is made from.
fn copied(key: &str, line: &str, add: &mut impl FnMut(String, &[&'static str])) {
    if !is_drive(key) {
        return resources(key, line, add);
    }
    let disk = Disk::new(line);
    if let Some(storage) = disk.storage().filter(|_| !disk.is_cdrom() || disk.is_cloudinit()) {
        add(format!("/storage/{storage}"), &["Datastore.AllocateSpace"]);
    }
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
        Some(("hostpci", _)) => mapping(key, line, "mapping", "pci", add),
        Some(("usb", _)) => mapping(key, line, "mapping", "usb", add),
        Some(("virtiofs", _)) => mapping(key, line, "dirid", "dir", add),
        // it changes what the host does when it boots
        None if key == "startup" => add("/".to_owned(), &["Sys.Modify"]),
        _ if !is_drive(key) => {}
        _ => {
            let disk = Disk::new(line);
            let import = disk.get("import-from").and_then(|text| text.parse::<VolId>().ok());
            match import.as_ref().map(|volid| (volid, owner(volid))) {
                // a disk of another machine is copied as a clone copies it
                Some((_, Some(owner))) => add(format!("/vms/{owner}"), &["VM.Clone"]),
                Some((volid, None)) => add(format!("/storage/{}", volid.storage), READ),
                None => {}
            }
            match disk.source() {
                Some(DiskSource::Allocate { storage, .. } | DiskSource::NewCloudInit(storage)) => {
                    add(format!("/storage/{storage}"), &["Datastore.AllocateSpace"]);
                }
                Some(DiskSource::Volume(volid)) if volid.content().is_some() => {
                    add(format!("/storage/{}", volid.storage), READ);
                }
                _ => {}
            }
        }
    }
}

/// The number of the machine that a volume or a backup is of, which is in its name.
fn owner(volid: &VolId) -> Option<Vmid> {
    let name = volid.file_name();
    let rest =
        ["vm-", "base-", "vzdump-qemu-"].iter().find_map(|start| name.strip_prefix(start))?;
    rest.split('-').next()?.parse().ok()
}

/// Devices of the host are used by the name that the cluster gives them.
fn mapping(
    key: &str,
    line: &str,
    option: &str,
    kind: &str,
    add: &mut impl FnMut(String, &[&'static str]),
) {
    let Setting::Line(grammar) = Setting::of(key) else { return };
    if let Some(name) = grammar.options(line).get(option) {
        add(format!("/mapping/{kind}/{name}"), &["Mapping.Use"]);
    }
}
