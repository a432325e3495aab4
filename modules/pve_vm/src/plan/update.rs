//! A machine that is there: the differences, and only these.
//!
//! Of network interfaces, drives and the firmware's table the sub-options that are not given stay.
//! Every other value is wanted as a whole: an `ipconfig0` without a gateway means that there is
//! none.

use std::collections::{BTreeMap, BTreeSet};

use ansible_module::Failure;
use pve_types::property::Boot;
use pve_types::{Setting, slot};

use super::cloudinit;
use super::create::{image, is_drive, line};
use super::disk::{DiskWant, Outcome};
use super::net;
use crate::change::{Change, Edit};
use crate::found::Guest;
use crate::params::{Params, UpdatePassword};
use crate::wanted::{Want, Wanted};

/// Whether the machine is only being made from another or from a backup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Making<'a> {
    /// It was there before.
    No,
    /// It is not there yet; it will be called so.
    Foretold(&'a str),
    /// It has just been made.
    Done,
}

/// The steps that bring a machine's settings to what is wanted.
///
/// # Errors
/// When a disk would have to be shrunk, moved or replaced.
pub(crate) fn plan(
    params: &Params,
    wanted: &Wanted,
    guest: &Guest,
    making: Making<'_>,
) -> Result<Vec<Change>, Failure> {
    let made = making != Making::No;
    let label = match making {
        Making::Foretold(label) => label.to_owned(),
        Making::No | Making::Done => guest.label(),
    };
    let mut wanted = wanted.clone();
    let kept = kept(&wanted, guest);
    let guest = &kept;
    if guest.volumes().is_empty() && cloudinit::disks(&wanted).next().is_some() {
        // its first disk is yet to be made
        image(params, &mut wanted)?;
    }
    if let Some((slot, want)) = cloudinit::missing_drive(params, &wanted, Some(guest)) {
        wanted.insert(slot, want);
    }
    let mut edit =
        Edit { digest: guest.digest.clone(), after_making: false, ..Edit::after_making(&label) };
    let mut grown = Vec::new();
    for (key, want) in &wanted {
        let current = guest.config.get(key).map(String::as_str);
        let outcome = match want {
            Want::Remove => {
                if current.is_some_and(|value| !value.trim().is_empty()) {
                    if is_drive(key) && guest.is("protection") {
                        return Err(Failure::new(format!(
                            "{key} cannot be taken out of {label}, which is protected: set \
                             protection to false in a task before this one"
                        )));
                    }
                    edit.delete.insert(key.clone());
                }
                Outcome::default()
            }
            Want::Text(text) => text_outcome(key, current, text),
            Want::Options(options) if is_drive(key) => {
                let disk = DiskWant::new(key, options)?;
                match current {
                    Some(current) => disk.update(key, current, params.move_disks),
                    None => disk.create(key),
                }
                .map_err(|failure| failure.context(&format!("failed to plan {label}")))?
            }
            Want::Options(options) => options_outcome(key, current, options),
        };
        if let Some(line) = outcome.line {
            edit.set.insert(key.clone(), line);
        }
        if let (Some((from, to)), Want::Options(options)) = (outcome.moves, want) {
            let format = DiskWant::new(key, options)?.format;
            let (label, disk) = (label.clone(), key.clone());
            grown.push(Change::Move { label, disk, from, to, format });
        }
        if let Some((from, to)) = outcome.grow {
            if let Some(why) = not_grown(guest, key, current.is_some()) {
                return Err(Failure::new(format!("failed to plan {label}: {key}: {why}")));
            }
            grown.push(Change::Grow { label: label.clone(), disk: key.clone(), from, to });
        }
        edit.allocates |= outcome.allocates;
        if stays(guest, key, want) && !edit.set.contains_key(key) {
            edit.revert.insert(key.clone(), None);
        }
    }
    let fresh = params.update_password == UpdatePassword::Always
        || !guest.config.contains_key("cipassword");
    if let Some(password) = params.cipassword.as_ref().filter(|_| fresh || made) {
        edit.set.insert("cipassword".into(), password.expose().to_owned());
    }
    if let (true, Some(name)) = (made, params.name.as_deref().filter(|name| *name != guest.name()))
    {
        edit.set.insert("name".into(), name.to_owned());
    }
    for key in params.revert.iter().filter(|key| !wanted.contains_key(*key)) {
        if let Some(pending) = guest.pending.get(key) {
            edit.revert.insert(key.clone(), pending.clone());
        }
    }
    for key in edit.set.keys().chain(&edit.delete) {
        if let Some(before) = guest.config.get(key) {
            edit.before.insert(key.clone(), before.clone());
        }
    }
    Ok(steps(edit, grown, guest))
}

/// The machine with what waits to be taken out of it and is wanted all the same: the disk and the
/// address that it has are kept by dropping the removal, where a line like a new one's would make
/// others.
fn kept(wanted: &Wanted, guest: &Guest) -> Guest {
    let mut kept = guest.clone();
    for (key, _) in wanted.iter().filter(|(key, want)| stays(guest, key, want)) {
        let value = guest.running_config.get(key).map(|value| (key.clone(), value.clone()));
        kept.config.extend(value);
    }
    kept
}

/// Whether a key that goes away at the next start is wanted, and not only as what its absence means
/// anyway.
fn stays(guest: &Guest, key: &str, want: &Want) -> bool {
    let goes = guest.pending.get(key).is_some_and(Option::is_none);
    goes && match want {
        Want::Remove => false,
        Want::Text(text) => text_outcome(key, None, text).line.is_some(),
        Want::Options(_) if is_drive(key) => true,
        Want::Options(options) => options_outcome(key, None, options).line.is_some(),
    }
}

/// Why a drive of a running machine cannot be grown now: PVE grows what the machine has, not what it
/// will have after its next start.
fn not_grown(guest: &Guest, key: &str, there: bool) -> Option<&'static str> {
    if !guest.running || guest.running_config.contains_key(key) {
        return None;
    }
    if there {
        return Some(
            "the machine gets this disk at its next start only, and it cannot be grown before: \
             stop and start the machine first, or leave the size out",
        );
    }
    (!plugs(guest, key)).then_some(
        "the machine runs and would get this disk at its next start only, so that it cannot be \
         grown to this size: use a scsi or virtio slot with hotplug for disks, or stop the machine \
         first",
    )
}

/// Whether a running machine takes and lets go of a drive in this slot.
#[must_use]
pub(crate) fn plugs(guest: &Guest, key: &str) -> bool {
    let hot = guest.running_config.get("hotplug").map_or("1", |features| features.trim());
    let disks = hot == "1" || hot.split([',', ';', ' ']).any(|feature| feature == "disk");
    disks && slot(key).is_some_and(|(bus, _)| matches!(bus, "scsi" | "virtio"))
}

fn text_outcome(key: &str, current: Option<&str>, wanted: &str) -> Outcome {
    let holds = Setting::of(key).holds(key, current, wanted);
    Outcome { line: (!holds).then(|| wanted.to_owned()), ..Outcome::default() }
}

fn options_outcome(
    key: &str,
    current: Option<&str>,
    wanted: &BTreeMap<String, Option<String>>,
) -> Outcome {
    let Setting::Line(grammar) = Setting::of(key) else {
        return text_outcome(key, current, &line(key, wanted));
    };
    let is_net = slot(key).is_some_and(|(family, _)| family == "net");
    let changed = match current {
        Some(current) if is_net => net::update(wanted, current),
        Some(current) if key == "smbios1" => net::merge(grammar, wanted, current),
        _ => {
            let whole = line(key, wanted);
            (!Setting::of(key).holds(key, current, &whole)).then_some(whole)
        }
    };
    Outcome { line: changed, ..Outcome::default() }
}

/// The edit and what has to follow it.
fn steps(mut edit: Edit, grown: Vec<Change>, guest: &Guest) -> Vec<Change> {
    let later = boot_after_devices(&mut edit, guest);
    let pending = guest.pending.keys().any(|key| cloudinit::is_cloudinit(key));
    let changed = edit.set.keys().chain(&edit.delete).any(|key| cloudinit::is_cloudinit(key));
    let regenerate = guest.running && guest.cloudinit_drive().is_some() && (changed || pending);
    let label = edit.label.clone();
    let mut plan = Vec::new();
    if !edit.set.is_empty() || !edit.delete.is_empty() || !edit.revert.is_empty() {
        plan.push(Change::Set(edit));
    }
    plan.extend(later.map(Change::Set));
    plan.extend(grown);
    if regenerate {
        plan.push(Change::Regenerate { label });
    }
    plan
}

/// PVE refuses a boot order with a device that is not there yet, also when the same call adds it:
/// the order is written after the devices.
fn boot_after_devices(edit: &mut Edit, guest: &Guest) -> Option<Edit> {
    let boot = edit.set.get("boot")?.clone();
    let added =
        |device: &&str| edit.set.contains_key(*device) && !guest.config.contains_key(*device);
    Boot::new(&boot).order().iter().find(|device| added(device))?;
    edit.set.remove("boot");
    let before = edit.before.remove("boot");
    Some(Edit {
        label: edit.label.clone(),
        set: BTreeMap::from([("boot".to_owned(), boot)]),
        delete: BTreeSet::new(),
        revert: BTreeMap::new(),
        before: before.map(|line| ("boot".to_owned(), line)).into_iter().collect(),
        digest: None,
        allocates: false,
        after_making: false,
    })
}
