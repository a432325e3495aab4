//! What is there: the machine as it was read, before anything is decided.

use std::collections::BTreeMap;

use pve_client::PendingItem;
use pve_types::address::{Address, Reason};
use pve_types::property::Disk;
use pve_types::{ConfigDigest, DISK_BUSES, NodeName, Vmid, lenient, slot};

pub(crate) use pve_types::vm_label as label;

/// The state as read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// The machine, if it is there.
    pub(crate) guest: Option<Guest>,
    /// What it is to be made from, if it is not there and the task says so.
    pub(crate) source: Option<Source>,
    /// Its address, if it was asked for and the machine is there.
    pub(crate) address: Option<Result<Address, Reason>>,
}

/// What a new machine is made from.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// Another machine.
    Clone(Guest),
    /// A backup, with the configuration in it if that can be read.
    Archive(Option<BTreeMap<String, String>>),
}

/// A machine as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// Its number.
    pub(crate) vmid: Vmid,
    /// Where it is now.
    pub(crate) node: NodeName,
    /// The configuration it will have after its next start: what a task is compared with.
    pub(crate) config: BTreeMap<String, String>,
    /// The configuration it runs with.
    pub(crate) running_config: BTreeMap<String, String>,
    /// What waits for its next start.
    pub(crate) pending: BTreeMap<String, Option<String>>,
    /// The hash of the configuration.
    pub(crate) digest: Option<ConfigDigest>,
    /// Whether it runs, a paused one included.
    pub(crate) running: bool,
    /// PVE's own word: `running`, `stopped`, `paused`.
    pub(crate) status: String,
    /// What it is locked by.
    pub(crate) lock: Option<String>,
    /// Whether the high-availability manager looks after it.
    pub(crate) ha_managed: bool,
}

impl Guest {
    /// A stopped machine of which nothing was read yet.
    #[must_use]
    pub(crate) fn unread(node: NodeName, vmid: Vmid) -> Self {
        Self {
            vmid,
            node,
            config: BTreeMap::new(),
            running_config: BTreeMap::new(),
            pending: BTreeMap::new(),
            digest: None,
            running: false,
            status: "stopped".into(),
            lock: None,
            ha_managed: false,
        }
    }

    /// Its name.
    #[must_use]
    pub(crate) fn name(&self) -> &str {
        self.config.get("name").map(String::as_str).unwrap_or_default()
    }

    /// What it is called in messages: `vm web (100)`.
    #[must_use]
    pub(crate) fn label(&self) -> String {
        label(Some(self.name()), Some(self.vmid))
    }

    /// Whether a flag is on.
    #[must_use]
    pub(crate) fn is(&self, flag: &str) -> bool {
        self.config.get(flag).is_some_and(|value| lenient::is_true(value))
    }

    /// The key of its cloud-init drive.
    #[must_use]
    pub(crate) fn cloudinit_drive(&self) -> Option<&str> {
        self.drives().find(|(_, disk)| disk.is_cloudinit()).map(|(key, _)| key)
    }

    /// Its drives.
    pub(crate) fn drives(&self) -> impl Iterator<Item = (&str, Disk)> {
        self.config.iter().filter(|(key, _)| is_drive(key)).map(|(key, line)| {
            let disk = Disk::new(line);
            (key.as_str(), disk)
        })
    }

    /// The volumes that are lost with it.
    #[must_use]
    pub(crate) fn volumes(&self) -> Vec<String> {
        self.drives()
            .filter(|(_, disk)| !disk.is_cdrom())
            .filter_map(|(key, disk)| Some(format!("{key} {}", disk.volume()?)))
            .collect()
    }

    /// Splits what PVE lists into the configuration in force and the one to come.
    pub(crate) fn set_pending(&mut self, items: Vec<PendingItem>) {
        for PendingItem { key, value, pending, delete } in items {
            if key == "digest" {
                self.digest = value.and_then(|digest| digest.parse().ok());
                continue;
            }
            if let Some(value) = &value {
                self.running_config.insert(key.clone(), value.clone());
            }
            if delete.is_some_and(|delete| delete > 0) {
                self.pending.insert(key, None);
                continue;
            }
            if pending.is_some() {
                self.pending.insert(key.clone(), pending.clone());
            }
            if let Some(value) = pending.or(value) {
                self.config.insert(key, value);
            }
        }
    }
}

/// Whether a key is a drive's slot.
#[must_use]
pub(crate) fn is_drive(key: &str) -> bool {
    slot(key).is_some_and(|(family, _)| DISK_BUSES.contains(&family))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn b54_what_waits_is_told_from_what_is_in_force() {
        let items: Vec<PendingItem> = serde_json::from_value(json!([
            {"key": "digest", "value": "b9d5c7c6f1e0a2d3b4c5d6e7f8091a2b3c4d5e6f"},
            {"key": "cores", "value": 2, "pending": 4},
            {"key": "vga", "value": "serial0", "delete": 1},
            {"key": "net1", "pending": "virtio=BC:24:11:00:00:01"},
            {"key": "name", "value": "web"},
        ]))
        .unwrap();
        let mut guest = crate::tests::guest(&json!({}));
        (guest.config, guest.running_config) = (BTreeMap::new(), BTreeMap::new());
        guest.set_pending(items);
        assert_eq!(
            json!(guest.config),
            json!({"cores": "4", "name": "web", "net1": "virtio=BC:24:11:00:00:01"})
        );
        assert_eq!(
            json!(guest.running_config),
            json!({"cores": "2", "name": "web", "vga": "serial0"})
        );
        assert_eq!(
            json!(guest.pending),
            json!({"cores": "4", "vga": null, "net1": "virtio=BC:24:11:00:00:01"})
        );
        assert!(guest.digest.is_some());
    }
}
