//! Cloud-init: its settings, and the drive that carries them.

use std::collections::BTreeMap;

use pve_types::property::Disk;
use pve_types::{StorageId, slot};

use super::disk::{DiskWant, Source};
use crate::found::Guest;
use crate::params::Params;
use crate::wanted::{Want, Wanted};

/// Whether a key is carried by the cloud-init drive.
#[must_use]
pub(crate) fn is_cloudinit(key: &str) -> bool {
    matches!(
        key,
        "cicustom"
            | "cipassword"
            | "citype"
            | "ciupgrade"
            | "ciuser"
            | "nameserver"
            | "searchdomain"
            | "sshkeys"
    ) || slot(key).is_some_and(|(family, _)| family == "ipconfig")
}

/// The drive to add: when a cloud-init setting is asked for that only such a drive carries, none is
/// asked for in a slot and none is there. The first free slot of the IDE bus is taken, `ide2` first
/// as PVE's own interface does.
#[must_use]
pub(crate) fn missing_drive(
    params: &Params,
    wanted: &Wanted,
    guest: Option<&Guest>,
) -> Option<(String, Want)> {
    let carried =
        |key: &str, want: &Want| is_cloudinit(key) && key != "ciupgrade" && *want != Want::Remove;
    let asked = params.cipassword.is_some() || wanted.iter().any(|(key, want)| carried(key, want));
    let there = guest.is_some_and(|guest| guest.cloudinit_drive().is_some());
    let in_slot = wanted.iter().any(|(key, want)| match want {
        Want::Options(options) => DiskWant::new(key, options)
            .is_ok_and(|disk| matches!(disk.source, Source::CloudInit(_))),
        _ => false,
    });
    if !asked || there || in_slot {
        return None;
    }
    let storage = params.cloudinit_storage.clone().or_else(|| first_storage(wanted, guest))?;
    let taken = |slot: &str| {
        wanted.contains_key(slot) || guest.is_some_and(|guest| guest.config.contains_key(slot))
    };
    let slot = ["ide2", "ide0", "ide3", "ide1"].into_iter().find(|slot| !taken(slot))?;
    let options = BTreeMap::from([("file".to_owned(), Some(format!("{storage}:cloudinit")))]);
    Some((slot.to_owned(), Want::Options(options)))
}

fn first_storage(wanted: &Wanted, guest: Option<&Guest>) -> Option<StorageId> {
    let asked = disks(wanted).find_map(|(_, disk)| match disk.source {
        Source::Disk { storage, .. } => Some(storage),
        _ => None,
    });
    let there = || {
        let config = &guest?.config;
        let mut keys: Vec<&String> = config.keys().filter(|key| bus(key).is_some()).collect();
        keys.sort_by_key(|key| bus(key));
        keys.into_iter().find_map(|key| {
            let disk = Disk::new(&config[key]);
            if disk.is_cdrom() { None } else { disk.storage() }
        })
    };
    asked.or_else(there)
}

/// The drives that are asked for, in the order in which the first disk is looked for.
pub(crate) fn disks(wanted: &Wanted) -> impl Iterator<Item = (&str, DiskWant)> {
    let mut keys: Vec<&String> = wanted.keys().filter(|key| bus(key).is_some()).collect();
    keys.sort_by_key(|key| bus(key));
    keys.into_iter().filter_map(|key| match &wanted[key] {
        Want::Options(options) => Some((key.as_str(), DiskWant::new(key, options).ok()?)),
        _ => None,
    })
}

/// A disk's place in that order.
fn bus(key: &str) -> Option<(usize, u8)> {
    let (family, index) = slot(key)?;
    let bus = ["scsi", "virtio", "sata", "ide"].iter().position(|bus| *bus == family)?;
    Some((bus, index))
}
