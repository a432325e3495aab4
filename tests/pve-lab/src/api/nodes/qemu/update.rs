//! Changing a VM's settings: at once, or pending while it runs.

use std::collections::BTreeMap;

use super::super::super::call::Call;
use super::super::super::error::ApiError;
use super::disks::{self, Change};
use super::{checks, create, password, values};
use crate::shared::Shared;
use crate::state::config::{Config, Section};
use crate::state::guest::{Drive, is_disk, is_slot, is_unused};

/// What is no setting of the guest.
const OPTIONS: &[&str] = &[
    "node",
    "vmid",
    "delete",
    "revert",
    "digest",
    "force",
    "skiplock",
    "background_delay",
    "import-working-storage",
];

/// What a call asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Update {
    pub(crate) set: Section,
    pub(crate) delete: Vec<String>,
    pub(crate) revert: Vec<String>,
    pub(crate) digest: Option<String>,
    pub(crate) force: bool,
    pub(crate) skiplock: bool,
}

impl Update {
    /// Reads a call, with all checks that need no look at the guest.
    pub(crate) fn read(call: &Call) -> Result<Self, ApiError> {
        if call.params.flag("skiplock") && !call.who.is_root() {
            return Err(ApiError::param("skiplock", "Only root may use this option."));
        }
        let mut wanted = Self {
            set: create::settings(call, OPTIONS)?,
            delete: call.params.list("delete"),
            revert: call.params.list("revert"),
            digest: call.params.get("digest").map(str::to_owned),
            force: call.params.flag("force"),
            skiplock: call.params.flag("skiplock"),
        };
        if wanted.set.is_empty() && wanted.delete.is_empty() && wanted.revert.is_empty() {
            return Err(ApiError::internal("no options specified"));
        }
        for key in &wanted.delete {
            if wanted.set.contains_key(key) {
                return Err(ApiError::param(
                    "delete",
                    format!("you can't use '-{key}' and -delete {key}' at the same time"),
                ));
            }
            let known =
                call.shared.schema.setting(key).is_some() && !OPTIONS.contains(&key.as_str());
            if !known {
                return Err(ApiError::param("delete", format!("unknown option '{key}'")));
            }
        }
        if let Some(password) = wanted.set.get_mut("cipassword") {
            *password = password::hashed(password);
        }
        for key in &wanted.revert {
            if call.shared.schema.setting(key).is_none() {
                return Err(ApiError::param("revert", format!("unknown option '{key}'")));
            }
        }
        Ok(wanted)
    }
}

/// All checks that come before anything is changed.
pub(crate) fn precheck(call: &Call, wanted: &Update) -> Result<(), ApiError> {
    call.vm_exists()?;
    let vmid = call.vmid();
    checks::hookscript(&wanted.set)?;
    checks::keys(call, vmid, None, wanted.delete.iter().map(|key| (key.as_str(), None)))?;
    checks::keys(call, vmid, None, wanted.set.iter().map(|(k, v)| (k.as_str(), Some(v.as_str()))))?;
    create::ssh_keys(&wanted.set)?;
    checks::storages(call, &wanted.set)?;
    checks::devices(call, &wanted.set)?;
    checks::bridges(call, &wanted.set)?;
    let state = call.state();
    let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
    if wanted.digest.as_ref().is_some_and(|digest| *digest != guest.config.digest()) {
        return Err(ApiError::internal("checksum mismatch (file change by other user?)"));
    }
    if !wanted.skiplock {
        guest.check_lock().map_err(ApiError::internal)?;
    }
    Ok(())
}

/// Keys that take effect in a running guest at once.
fn is_fast(key: &str) -> bool {
    matches!(
        key,
        "lock"
            | "name"
            | "onboot"
            | "shares"
            | "startup"
            | "description"
            | "protection"
            | "vmstatestorage"
            | "hookscript"
            | "tags"
            | "cpulimit"
            | "cpuunits"
            | "balloon"
    ) || is_unused(key)
}

/// A card that keeps its model and MAC is changed while the guest runs; else it would have to be
/// unplugged, which needs the guest's help.
fn keeps_card(old: &str, new: &str) -> bool {
    let (old, new) = (values::net_parts(old), values::net_parts(new));
    old.0 == new.0 && old.1.eq_ignore_ascii_case(&new.1)
}

struct Work<'a> {
    shared: &'a Shared,
    vmid: u32,
    running: bool,
    config: Config,
    errors: BTreeMap<String, String>,
    log: &'a dyn Fn(&str),
}

/// Changes the settings. The caller holds the guest's lock.
pub(crate) fn apply(
    shared: &Shared,
    node: &str,
    vmid: u32,
    wanted: &Update,
    log: &dyn Fn(&str),
) -> Result<(), ApiError> {
    let (config, running) = {
        let state = shared.state();
        let guest = state.vm(node, vmid).map_err(ApiError::internal)?;
        if !wanted.skiplock {
            guest.check_lock().map_err(ApiError::internal)?;
        }
        (guest.config.clone(), guest.running.is_some())
    };
    let mut work = Work { shared, vmid, running, config, errors: BTreeMap::new(), log };
    let result = work.all(wanted);
    let Work { config, errors, .. } = work;
    {
        let mut state = shared.state();
        if let Some(guest) = state.guests.get_mut(&vmid) {
            guest.config = config;
        }
        state.save_guest(vmid);
    }
    if running {
        rewire(shared, vmid);
    }
    result.map_err(ApiError::internal)?;
    if errors.is_empty() { Ok(()) } else { Err(ApiError::params(errors)) }
}

/// Tells the driver which cards a running guest has now.
fn rewire(shared: &Shared, vmid: u32) {
    let nics = shared.state().guests.get(&vmid).map(|guest| super::power::nics(&guest.config.main));
    if let Some(nics) = nics
        && let Err(e) = shared.driver.rewire(vmid, &nics)
    {
        eprintln!("pve-lab: failed to plug the cards of guest {vmid}: {e}");
    }
}

impl Work<'_> {
    fn all(&mut self, wanted: &Update) -> Result<(), String> {
        for key in &wanted.revert {
            self.config.pending.remove(key);
            self.config.deletes.remove(key);
        }
        if wanted.set.contains_key("boot") {
            self.check_boot(wanted)?;
        }
        for key in &wanted.delete {
            self.delete(key, wanted.force)?;
        }
        for (key, value) in &wanted.set {
            self.set(key, value)?;
        }
        Ok(())
    }

    fn check_boot(&self, wanted: &Update) -> Result<(), String> {
        let merged = self.config.merged();
        let order = wanted.set.get("boot").and_then(|boot| boot.strip_prefix("order="));
        for device in order.unwrap_or_default().split(';').filter(|device| !device.is_empty()) {
            if !merged.contains_key(device) && !wanted.set.contains_key(device) {
                return Err(format!("invalid bootorder: device '{device}' does not exist'"));
            }
        }
        Ok(())
    }

    fn delete(&mut self, key: &str, force: bool) -> Result<(), String> {
        self.config.pending.remove(key);
        let Some(value) = self.config.main.get(key).cloned() else { return Ok(()) };
        let protected = self.config.main.get("protection").is_some_and(|value| value == "1");
        if (is_disk(key) || is_unused(key)) && protected {
            let kind = if is_unused(key) { "volume" } else { "drive" };
            return Err(format!("can't remove {kind} '{key}' - protection mode enabled"));
        }
        if self.running && is_slot(key, "net") {
            self.config.deletes.insert(key.to_owned());
            self.unplug_failed(key);
            return Ok(());
        }
        let hot = is_fast(key) || disks::is_hotplug(key);
        if self.running && !hot {
            self.config.deletes.insert(key.to_owned());
            return Ok(());
        }
        if is_unused(key) {
            disks::remove_unused(self.shared, &self.config, &value)?;
        } else if is_disk(key) {
            disks::take_out(self.shared, self.vmid, &mut self.config, &value, force)?;
        }
        self.config.main.remove(key);
        if is_disk(key) || is_slot(key, "net") {
            forget_in_boot(&mut self.config.main, key);
        }
        Ok(())
    }

    fn unplug_failed(&mut self, key: &str) {
        let end = if self.shared.old() { "" } else { " - still busy in guest?" };
        self.errors.insert(
            key.to_owned(),
            format!("hotplug problem - error on hot-unplugging device '{key}'{end}\n"),
        );
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        self.config.deletes.remove(key);
        if is_disk(key) {
            return self.set_drive(key, value);
        }
        let kept = values::kept(&self.shared.schema, key, value);
        let Some(kept) = kept else {
            self.config.main.remove(key);
            self.config.pending.remove(key);
            return Ok(());
        };
        // a value that went through unparsed is refused when it shall be put in force
        if self.running && key == "cores" && kept.starts_with('+') {
            return Err(format!(
                "unable to parse value of '{key}' - type check ('integer') failed - got '{kept}'"
            ));
        }
        let old = self.config.main.get(key);
        if old == Some(&kept) {
            self.config.pending.remove(key);
            return Ok(());
        }
        if !self.running || is_fast(key) {
            self.config.main.insert(key.to_owned(), kept);
            self.config.pending.remove(key);
            return Ok(());
        }
        if is_slot(key, "net") {
            match old {
                Some(old) if !keeps_card(old, &kept) => {
                    self.config.pending.insert(key.to_owned(), kept);
                    self.unplug_failed(key);
                }
                _ => {
                    self.config.main.insert(key.to_owned(), kept);
                    self.config.pending.remove(key);
                }
            }
            return Ok(());
        }
        self.config.pending.insert(key.to_owned(), kept);
        Ok(())
    }

    fn set_drive(&mut self, key: &str, value: &str) -> Result<(), String> {
        let merged = self.config.merged();
        let before = merged.get(key).map(|value| Drive::parse(value));
        disks::refuse_second_cloudinit(&merged, key, value)?;
        let (kept, _) = super::volumes::realize(self.shared, self.vmid, key, value, self.log)?;
        let after = Drive::parse(&kept);
        let new_cdrom = before.is_none() && after.is_cdrom() && !after.is_cloudinit();
        let change = Change { key, kept: &kept, after: &after };
        if self.running && !disks::takes_effect(before.as_ref(), &change) {
            self.config.pending.insert(key.to_owned(), kept.clone());
        } else {
            disks::put_in(self.shared, self.vmid, &mut self.config, &change)?;
        }
        if new_cdrom {
            self.append_to_boot(key);
        }
        Ok(())
    }

    fn append_to_boot(&mut self, key: &str) {
        let merged = self.config.merged();
        let Some(order) = merged.get("boot").and_then(|boot| boot.strip_prefix("order=")) else {
            return;
        };
        if order.split(';').any(|device| device == key) {
            return;
        }
        let boot = format!("order={order};{key}");
        let section = if self.running { &mut self.config.pending } else { &mut self.config.main };
        section.insert("boot".to_owned(), boot);
    }
}

/// A device that is gone is no device to boot from.
fn forget_in_boot(main: &mut Section, key: &str) {
    let Some(order) = main.get("boot").and_then(|boot| boot.strip_prefix("order=")) else { return };
    let left: Vec<&str> = order.split(';').filter(|device| *device != key).collect();
    let boot = if left.is_empty() { " ".to_owned() } else { format!("order={}", left.join(";")) };
    main.insert("boot".to_owned(), boot);
}
