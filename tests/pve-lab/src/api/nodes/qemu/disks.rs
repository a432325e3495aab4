//! Disks that are put into a VM and taken out of it.

use super::volumes;
use crate::shared::Shared;
use crate::state::config::{Config, Section};
use crate::state::guest::{Drive, drives, is_unused};
use crate::state::storage::Volume;

/// A drive's new value.
pub(crate) struct Change<'a> {
    pub(crate) key: &'a str,
    pub(crate) kept: &'a str,
    pub(crate) after: &'a Drive,
}

/// Buses whose devices come and go while the guest runs.
pub(crate) fn is_hotplug(key: &str) -> bool {
    key.starts_with("scsi") && key != "scsihw" || key.starts_with("virtio")
}

/// Whether a running guest sees the change at once.
pub(crate) fn takes_effect(before: Option<&Drive>, change: &Change<'_>) -> bool {
    match before {
        // a medium is changed, the drive stays
        Some(before) if before.is_cdrom() && change.after.is_cdrom() => true,
        Some(before) if before.file == change.after.file => {
            let fixed = |drive: &Drive| {
                ["aio", "cache", "discard", "iothread", "ssd", "serial", "queues", "ro"]
                    .map(|key| drive.options.get(key).cloned())
            };
            fixed(before) == fixed(change.after)
        }
        _ => is_hotplug(change.key),
    }
}

/// There is one cloud-init drive in a guest.
pub(crate) fn refuse_second_cloudinit(
    merged: &Section,
    key: &str,
    value: &str,
) -> Result<(), String> {
    if !Drive::parse(value).is_cloudinit() {
        return Ok(());
    }
    match drives(merged).iter().find(|(slot, drive)| slot != key && drive.is_cloudinit()) {
        Some((slot, _)) => Err(format!("{key} - cloud-init drive is already attached at '{slot}'")),
        None => Ok(()),
    }
}

/// Whether a volume is a disk of this guest.
fn owns(vmid: u32, file: &str) -> bool {
    Volume::parse(file).is_some_and(|volume| volume.vmid == Some(vmid))
}

/// Parks a volume that is no longer attached.
fn park(config: &mut Config, file: &str) {
    let known = config.main.iter().any(|(key, value)| is_unused(key) && value == file);
    if known {
        return;
    }
    let free = (0..256).map(|n| format!("unused{n}")).find(|key| !config.main.contains_key(key));
    if let Some(key) = free {
        config.main.insert(key, file.to_owned());
    }
}

/// Removes a volume for good, unless a snapshot is made of it.
pub(crate) fn remove_unused(shared: &Shared, config: &Config, file: &str) -> Result<(), String> {
    let of_it = |section: &Section| drives(section).iter().any(|(_, drive)| drive.file == file);
    if config.snapshots.values().any(of_it) {
        return Err(format!("unable to delete '{file}' - volume is still in use (snapshot?)"));
    }
    volumes::remove(shared, file)
}

/// What becomes of the volume of a drive that is taken out.
pub(crate) fn take_out(
    shared: &Shared,
    vmid: u32,
    config: &mut Config,
    value: &str,
    force: bool,
) -> Result<(), String> {
    let drive = Drive::parse(value);
    if !owns(vmid, &drive.file) {
        return Ok(());
    }
    if drive.is_cloudinit() || force {
        return volumes::remove(shared, &drive.file);
    }
    if !drive.is_cdrom() {
        park(config, &drive.file);
    }
    Ok(())
}

/// Puts a drive in place of whatever was there.
pub(crate) fn put_in(
    shared: &Shared,
    vmid: u32,
    config: &mut Config,
    change: &Change<'_>,
) -> Result<(), String> {
    // the slot that the volume leaves is free for the one it replaces
    let attached = change.after.file.as_str();
    config.main.retain(|key, value| !(is_unused(key) && value == attached));
    if let Some(old) = config.main.get(change.key).cloned()
        && Drive::parse(&old).file != change.after.file
    {
        take_out(shared, vmid, config, &old, false)?;
    }
    config.main.insert(change.key.to_owned(), change.kept.to_owned());
    config.pending.remove(change.key);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_cloudinit_drive_is_refused() {
        let merged = Section::from([(
            "ide2".to_owned(),
            "local:210/vm-210-cloudinit.qcow2,media=cdrom".to_owned(),
        )]);
        assert_eq!(
            refuse_second_cloudinit(&merged, "ide0", "local:cloudinit"),
            Err("ide0 - cloud-init drive is already attached at 'ide2'".to_owned())
        );
        assert_eq!(refuse_second_cloudinit(&merged, "ide2", "local:cloudinit"), Ok(()));
    }

    #[test]
    fn a_volume_is_parked_once() {
        let mut config = Config::default();
        park(&mut config, "local:110/vm-110-disk-1.raw");
        park(&mut config, "local:110/vm-110-disk-1.raw");
        park(&mut config, "local:110/vm-110-disk-2.raw");
        assert_eq!(config.main["unused0"], "local:110/vm-110-disk-1.raw");
        assert_eq!(config.main["unused1"], "local:110/vm-110-disk-2.raw");
        assert_eq!(config.main.len(), 2);
    }
}
