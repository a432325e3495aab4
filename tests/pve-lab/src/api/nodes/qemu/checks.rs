//! What may be set by whom: privileges for each key, storages, bridges, root's own options.

use super::super::super::call::Call;
use super::super::super::error::ApiError;
use super::values::net_parts;
use super::volumes::{new_cloudinit, new_disk};
use crate::state::config::Section;
use crate::state::guest::{Drive, is_disk, is_slot, is_unused};
use crate::state::storage::Volume;

/// The privilege that a setting needs; `None` is root's own.
fn privilege(key: &str) -> Option<&'static str> {
    Some(match key {
        "memory" | "balloon" | "shares" | "allow-ksm" => "VM.Config.Memory",
        "cores" | "sockets" | "cpu" | "vcpus" | "cpulimit" | "cpuunits" | "numa" | "smp" => {
            "VM.Config.CPU"
        }
        "acpi" | "hotplug" | "kvm" | "machine" | "scsihw" | "smbios1" | "tablet" | "vga"
        | "watchdog" | "audio0" | "rng0" | "spice_enhancements" | "vmgenid" | "arch" => {
            "VM.Config.HWType"
        }
        "boot" | "bootdisk" | "vmstatestorage" => "VM.Config.Disk",
        "agent" | "autostart" | "bios" | "description" | "keyboard" | "localtime"
        | "migrate_downtime" | "migrate_speed" | "name" | "onboot" | "ostype" | "protection"
        | "reboot" | "startdate" | "startup" | "tdf" | "template" | "tags" | "freeze" => {
            "VM.Config.Options"
        }
        "cicustom" | "cipassword" | "citype" | "ciuser" | "ciupgrade" | "nameserver"
        | "searchdomain" | "sshkeys" => "VM.Config.Cloudinit",
        "cdrom" => "VM.Config.CDROM",
        _ if is_slot(key, "ipconfig") => "VM.Config.Cloudinit",
        _ if is_slot(key, "net") => "VM.Config.Network",
        _ if is_disk(key) || is_unused(key) => "VM.Config.Disk",
        _ if is_slot(key, "numa") => "VM.Config.CPU",
        _ if ["serial", "usb", "hostpci"].iter().any(|family| is_slot(key, family)) => {
            "VM.Config.HWType"
        }
        _ if is_slot(key, "virtiofs") => "VM.Config.Disk",
        _ => return None,
    })
}

/// Checks the caller's privileges for keys that are set or deleted.
pub(crate) fn keys<'a>(
    call: &Call,
    vmid: u32,
    pool: Option<&str>,
    keys: impl Iterator<Item = (&'a str, Option<&'a str>)>,
) -> Result<(), ApiError> {
    if call.who.is_root() {
        return Ok(());
    }
    let path = format!("/vms/{vmid}");
    for (key, value) in keys {
        let mut needed = privilege(key)
            .ok_or_else(|| ApiError::internal(format!("only root can set '{key}' config")))?;
        if is_disk(key) && value.is_some_and(|value| Drive::parse(value).is_cdrom()) {
            needed = "VM.Config.CDROM";
        }
        // what cloud-init may do was part of the network once
        let any: &[&str] = match needed {
            "VM.Config.Cloudinit" => &["VM.Config.Cloudinit", "VM.Config.Network"],
            _ => &[needed],
        };
        let here = |place: &str| any.iter().any(|privilege| call.allows(place, privilege));
        let by_pool = pool.is_some_and(|pool| here(&format!("/pool/{pool}")));
        if !by_pool && !here(&path) {
            return Err(ApiError::forbidden(&format!("{path}, {}", any.join("|"))));
        }
        // it changes what the node does when it boots
        if key == "startup" {
            call.require("/", "Sys.Modify")?;
        }
    }
    Ok(())
}

/// Options that name real devices are root's own.
pub(crate) fn devices(call: &Call, set: &Section) -> Result<(), ApiError> {
    if call.who.is_root() {
        return Ok(());
    }
    for (key, value) in set {
        let refusal = if is_slot(key, "serial") && value != "socket" {
            format!("only root can modify '{key}' config for real devices")
        } else if is_slot(key, "usb") && !value.contains("mapping=") && !value.contains("spice") {
            format!("only root can set '{key}' config for real devices")
        } else if is_slot(key, "hostpci") && !value.contains("mapping=") {
            format!("only root can set '{key}' config for non-mapped devices")
        } else {
            continue;
        };
        return Err(ApiError::internal(refusal));
    }
    Ok(())
}

/// The caller must be allowed to use each bridge.
pub(crate) fn bridges(call: &Call, set: &Section) -> Result<(), ApiError> {
    for (_, value) in set.iter().filter(|(key, _)| is_slot(key, "net")) {
        let (_, _, rest) = net_parts(value);
        let bridge = rest.iter().find(|(key, _)| key == "bridge");
        let Some((_, bridge)) = bridge else { continue };
        let mut path = format!("/sdn/zones/localnetwork/{bridge}");
        if let Some((_, tag)) = rest.iter().find(|(key, _)| key == "tag") {
            path = format!("{path}/{tag}");
        }
        call.require(&path, "SDN.Use")?;
    }
    Ok(())
}

/// The caller must be allowed to use each storage, and the storage to hold what it shall.
pub(crate) fn storages(call: &Call, set: &Section) -> Result<(), ApiError> {
    for (key, value) in set.iter().filter(|(key, _)| is_disk(key)) {
        drive(call, key, &Drive::parse(value))?;
    }
    Ok(())
}

fn drive(call: &Call, key: &str, drive: &Drive) -> Result<(), ApiError> {
    let target = new_cloudinit(&drive.file)
        .map(str::to_owned)
        .or_else(|| new_disk(&drive.file).map(|(storage, _)| storage));
    let Some(target) = target else { return existing(call, drive) };
    let storage = call.state().storage(&target).cloned().map_err(ApiError::internal)?;
    call.require(&format!("/storage/{target}"), "Datastore.AllocateSpace")?;
    if !storage.holds("images") {
        return Err(ApiError::param(
            "storage",
            format!("storage '{target}' does not support vm images"),
        ));
    }
    let Some(source) = drive.options.get("import-from") else { return Ok(()) };
    if source.starts_with('/') {
        if call.who.is_root() {
            return Ok(());
        }
        return Err(ApiError::internal(
            "Only root can pass arbitrary filesystem paths. at /usr/share/perl5/PVE/Storage.pm \
             line 651.",
        ));
    }
    let Some(volume) = Volume::parse(source) else {
        return Err(ApiError::param(key, format!("unable to parse volume ID '{source}'")));
    };
    call.state().storage(&volume.storage).map(drop).map_err(ApiError::internal)?;
    if !matches!(volume.content.as_str(), "images" | "import") {
        return Err(ApiError::param(
            key,
            format!(
                "{source} has wrong type '{}' - needs to be 'images' or 'import'",
                volume.content
            ),
        ));
    }
    match volume.vmid {
        // it is copied as a clone copies it
        Some(owner) => call.require(&format!("/vms/{owner}"), "VM.Clone"),
        None => read(call, &volume.storage),
    }
}

fn read(call: &Call, storage: &str) -> Result<(), ApiError> {
    let path = format!("/storage/{storage}");
    let allowed = ["Datastore.Audit", "Datastore.AllocateSpace", "Datastore.Allocate"]
        .iter()
        .any(|privilege| call.allows(&path, privilege));
    if allowed {
        Ok(())
    } else {
        Err(ApiError::forbidden(&format!("{path}, Datastore.Audit|Datastore.AllocateSpace")))
    }
}

fn existing(call: &Call, drive: &Drive) -> Result<(), ApiError> {
    match Volume::parse(&drive.file) {
        Some(volume) => {
            call.state().storage(&volume.storage).map(drop).map_err(ApiError::internal)?;
            // a guest's own disks need nothing more
            if volume.vmid == Some(call.vmid()) {
                return Ok(());
            }
            read(call, &volume.storage)
        }
        None => Ok(()),
    }
}

/// A hook script must be an executable snippet, and those of the lab are not.
pub(crate) fn hookscript(set: &Section) -> Result<(), ApiError> {
    match set.get("hookscript") {
        None => Ok(()),
        Some(script) => {
            Err(ApiError::param("hookscript", format!("script '{script}' is not executable\n")))
        }
    }
}
