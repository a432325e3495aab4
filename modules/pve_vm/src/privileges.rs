//! What the caller must be allowed for a plan, by the rules of PVE's own checks
//! (`check_vm_modify_config_perm` in `PVE/API2/Qemu.pm`).

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{Client, Permissions};
use pve_types::property::{Disk, DiskSource, NetDevice, Options};
use pve_types::{Setting, Vmid, VolId, slot};

use crate::change::{Change, From};
use crate::found::Found;
use crate::plan::cloudinit::is_cloudinit;
use crate::preflight::guest_path;

/// Paths and what is needed there; of each list one is enough.
type Needs = BTreeMap<String, BTreeSet<Vec<&'static str>>>;

/// What shows the volumes of a storage.
const READ: &[&str] = &["Datastore.Audit", "Datastore.AllocateSpace"];

/// Looks for privileges that are missing.
pub(crate) async fn check(
    client: &Client,
    found: &Found,
    plan: &[Change],
    problems: &mut Vec<String>,
) {
    if client.is_root() {
        return;
    }
    problems.extend(root_only(client, plan));
    let pool = plan.iter().find_map(|change| match change {
        Change::Create(creation) => creation.pool.as_ref().map(|pool| format!("/pool/{pool}")),
        _ => None,
    });
    let mut by_pool = None;
    if let Some(pool) = &pool {
        by_pool = client.permissions(Some(pool)).await.ok().map(|granted| (pool.as_str(), granted));
    }
    for (path, needed) in needs(found, plan) {
        let Ok(granted) = client.permissions(Some(&path)).await else { return };
        // a machine that becomes a member of a pool gets what is granted on that
        let by_pool = by_pool.as_ref().filter(|_| path.starts_with("/vms"));
        problems.extend(missing(client, &granted, by_pool, &path, &needed));
    }
}

/// Keys that PVE lets no one set but root with its password, all in one sentence.
fn root_only(client: &Client, plan: &[Change]) -> Option<String> {
    let mut keys: Vec<&str> = plan
        .iter()
        .flat_map(|change| match change {
            Change::Create(creation) => lines(&creation.config).collect::<Vec<_>>(),
            Change::Set(edit) => {
                let gone = edit
                    .delete
                    .iter()
                    .map(|key| (key.as_str(), edit.before.get(key).map_or("", String::as_str)));
                lines(&edit.set).chain(gone).collect()
            }
            _ => Vec::new(),
        })
        .filter(|(key, line)| is_root_only(key, line))
        .map(|(key, _)| key)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    (!keys.is_empty()).then(|| {
        format!(
            "{} may not set {}: PVE lets only root@pam do that, logged in with its password, and \
             no token, not even one of root's: call with api_user root@pam and api_password, or \
             set it on the node with `qm set`; devices of the host may be set by others too if \
             they are mapped",
            client.caller(),
            keys.join(", ")
        )
    })
}

fn lines(config: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    config.iter().map(|(key, line)| (key.as_str(), line.as_str()))
}

/// Whether PVE dies with `only root can set`.
fn is_root_only(key: &str, line: &str) -> bool {
    let options = || match Setting::of(key) {
        Setting::Line(grammar) => grammar.options(line),
        _ => Options::new(),
    };
    match (key, slot(key)) {
        (
            "affinity" | "amd-sev" | "args" | "hookscript" | "hugepages" | "intel-tdx" | "ivshmem"
            | "keephugepages",
            _,
        )
        | (_, Some(("parallel", _))) => true,
        ("rng0", _) => options().get("source").is_some_and(|source| source == "/dev/hwrng"),
        (_, Some(("serial", _))) => line != "socket",
        (_, Some(("hostpci", _))) => !options().contains_key("mapping"),
        (_, Some(("usb", _))) => {
            let options = options();
            let spice = options.get("host").is_some_and(|host| host.eq_ignore_ascii_case("spice"));
            !options.contains_key("mapping") && !spice
        }
        _ if crate::plan::create::is_drive(key) => {
            Disk::new(line).get("file").is_some_and(|file| file.starts_with('/'))
        }
        _ => false,
    }
}

fn missing(
    client: &Client,
    granted: &Permissions,
    by_pool: Option<&(&str, Permissions)>,
    path: &str,
    needed: &BTreeSet<Vec<&'static str>>,
) -> Option<String> {
    let lacking: Vec<String> = needed
        .iter()
        .filter(|any| {
            !any.iter().any(|privilege| {
                granted.has(path, privilege)
                    || by_pool.is_some_and(|(pool, granted)| granted.has(pool, privilege))
            })
        })
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
                    add(guest_path(vmid), of_key(key, ""));
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
    if !crate::plan::create::is_drive(key) {
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
        _ if !crate::plan::create::is_drive(key) => {}
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

/// The privilege on the machine that a key needs.
fn of_key(key: &str, line: &str) -> &'static [&'static str] {
    if is_cloudinit(key) {
        return &["VM.Config.Cloudinit", "VM.Config.Network"];
    }
    match key {
        "affinity" | "cores" | "cpu" | "cpulimit" | "cpuunits" | "numa" | "smp" | "sockets"
        | "vcpus" => &["VM.Config.CPU"],
        "allow-ksm" | "balloon" | "memory" | "shares" => &["VM.Config.Memory"],
        "acpi" | "arch" | "audio0" | "hotplug" | "kvm" | "machine" | "rng0" | "scsihw"
        | "smbios1" | "spice_enhancements" | "tablet" | "vga" | "vmgenid" | "watchdog" => {
            &["VM.Config.HWType"]
        }
        "boot" | "bootdisk" | "vmstatestorage" => &["VM.Config.Disk"],
        "freeze" => &["VM.PowerMgmt"],
        _ => match slot(key) {
            Some(("net", _)) => &["VM.Config.Network"],
            Some(("hostpci" | "serial" | "usb", _)) => &["VM.Config.HWType"],
            Some(("numa", _)) => &["VM.Config.CPU"],
            Some(("ide" | "sata" | "scsi" | "virtio", _)) => {
                let disk = Disk::new(line);
                if disk.is_cdrom() && !disk.is_cloudinit() {
                    &["VM.Config.CDROM"]
                } else {
                    &["VM.Config.Disk"]
                }
            }
            Some(("efidisk" | "tpmstate" | "unused" | "virtiofs", _)) => &["VM.Config.Disk"],
            _ => &["VM.Config.Options"],
        },
    }
}

#[cfg(test)]
mod tests;
