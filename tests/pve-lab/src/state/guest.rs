//! A guest: its configuration, where it is, and whether it runs.

use std::collections::BTreeMap;

use super::config::{Config, Section};

/// VM or container.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Kind {
    /// A VM.
    Qemu,
    /// A container.
    Lxc,
}

impl Kind {
    /// `qemu` or `lxc`.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Lxc => "lxc",
        }
    }

    /// The folder of its configuration files.
    pub(crate) fn folder(self) -> &'static str {
        match self {
            Self::Qemu => "qemu-server",
            Self::Lxc => "lxc",
        }
    }
}

/// A guest that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Running {
    pub(crate) pid: u32,
    pub(crate) since: u64,
    pub(crate) paused: bool,
    /// The machine type it was started with.
    pub(crate) machine: String,
}

/// A guest.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    pub(crate) vmid: u32,
    pub(crate) kind: Kind,
    pub(crate) node: String,
    pub(crate) config: Config,
    pub(crate) running: Option<Running>,
    /// Milliseconds since the lab's start when the statistics first know it.
    pub(crate) known_from: u64,
    /// The settings that the cloud-init drive was last made from.
    pub(crate) generated: Option<Section>,
    /// What a container's `interfaces` says.
    pub(crate) interfaces: Option<serde_json::Value>,
}

impl Guest {
    /// A stopped guest.
    pub(crate) fn new(vmid: u32, kind: Kind, node: &str, config: Config, known_from: u64) -> Self {
        Self {
            vmid,
            kind,
            node: node.to_owned(),
            config,
            running: None,
            known_from,
            generated: None,
            interfaces: None,
        }
    }

    /// Its name as lists show it.
    pub(crate) fn name(&self) -> String {
        let key = if self.kind == Kind::Qemu { "name" } else { "hostname" };
        self.config.main.get(key).cloned().unwrap_or_else(|| match self.kind {
            Kind::Qemu => format!("VM {}", self.vmid),
            Kind::Lxc => format!("CT{}", self.vmid),
        })
    }

    /// A setting in force.
    pub(crate) fn setting(&self, key: &str) -> Option<&str> {
        self.config.main.get(key).map(String::as_str)
    }

    /// A setting as a number.
    pub(crate) fn number(&self, key: &str) -> Option<u64> {
        self.setting(key)?.trim_start_matches('+').parse().ok()
    }

    /// Whether it may only be cloned.
    pub(crate) fn is_template(&self) -> bool {
        self.setting("template") == Some("1")
    }

    /// Fails with PVE's words if the guest is locked.
    pub(crate) fn check_lock(&self) -> Result<(), String> {
        match self.setting("lock") {
            Some(lock) if self.kind == Kind::Qemu => Err(format!("VM is locked ({lock})")),
            Some(lock) => Err(format!("CT is locked ({lock})")),
            None => Ok(()),
        }
    }

    /// Whether the agent's flag is on.
    pub(crate) fn agent(&self) -> bool {
        self.setting("agent").is_some_and(agent_enabled)
    }

    /// Memory in MiB.
    pub(crate) fn memory(&self) -> u64 {
        self.setting("memory")
            .map(|text| text.trim_start_matches("current=").trim_start_matches('+'))
            .and_then(|text| text.parse().ok())
            .unwrap_or(512)
    }

    /// Virtual processors.
    pub(crate) fn cpus(&self) -> u64 {
        let default = self.number("sockets").unwrap_or(1) * self.number("cores").unwrap_or(1);
        self.number("vcpus").unwrap_or(default)
    }
}

/// Whether an `agent` option string has the flag on.
pub(crate) fn agent_enabled(text: &str) -> bool {
    text.split(',').any(|part| matches!(part, "1" | "enabled=1"))
}

/// Whether a key is a disk slot.
pub(crate) fn is_disk(key: &str) -> bool {
    matches!(key, "efidisk0" | "tpmstate0")
        || ["ide", "sata", "scsi", "virtio"].iter().any(|bus| {
            key.strip_prefix(bus)
                .is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
        })
}

/// Whether a key is a detached disk.
pub(crate) fn is_unused(key: &str) -> bool {
    key.strip_prefix("unused").is_some_and(|n| n.parse::<u16>().is_ok())
}

/// Whether a key is of a numbered family, `net0` of `net`.
pub(crate) fn is_slot(key: &str, family: &str) -> bool {
    key.strip_prefix(family).is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// The number of a slot.
pub(crate) fn slot_number(key: &str) -> u32 {
    let digits = key.trim_start_matches(|c: char| !c.is_ascii_digit());
    digits.parse().unwrap_or(0)
}

/// A drive's value: its file and its options.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Drive {
    pub(crate) file: String,
    pub(crate) options: BTreeMap<String, String>,
}

impl Drive {
    /// Reads a drive's value.
    pub(crate) fn parse(text: &str) -> Self {
        let mut drive = Self::default();
        for part in text.split(',') {
            match part.split_once('=') {
                Some(("file" | "volume", value)) => drive.file = value.to_owned(),
                Some((key, value)) => {
                    drive.options.insert(key.to_owned(), value.to_owned());
                }
                None if drive.file.is_empty() => drive.file = part.to_owned(),
                None => {}
            }
        }
        drive
    }

    /// Prints it: the file first, then the options by name.
    pub(crate) fn print(&self) -> String {
        let mut text = self.file.clone();
        for (key, value) in &self.options {
            text.push_str(&format!(",{key}={value}"));
        }
        text
    }

    /// Whether it is a CD-ROM, the cloud-init drive included.
    pub(crate) fn is_cdrom(&self) -> bool {
        self.options.get("media").is_some_and(|media| media == "cdrom")
    }

    /// Whether it is the cloud-init drive.
    pub(crate) fn is_cloudinit(&self) -> bool {
        let name = self.file.rsplit(['/', ':']).next().unwrap_or_default();
        name == "cloudinit" || name.contains("-cloudinit")
    }
}

/// The drives of a section, by slot.
pub(crate) fn drives(section: &Section) -> Vec<(String, Drive)> {
    section
        .iter()
        .filter(|(key, _)| is_disk(key))
        .map(|(key, value)| (key.clone(), Drive::parse(value)))
        .collect()
}

/// The boot order PVE writes at creation: first disk, first CD-ROM, first card.
pub(crate) fn default_boot(section: &Section) -> String {
    let mut order = Vec::new();
    for cdrom in [false, true] {
        let first = ["ide", "scsi", "virtio", "sata"].iter().find_map(|bus| {
            (0..32).map(|n| format!("{bus}{n}")).find(|key| {
                section.get(key).is_some_and(|value| Drive::parse(value).is_cdrom() == cdrom)
            })
        });
        order.extend(first);
    }
    order.extend((0..32).map(|n| format!("net{n}")).find(|key| section.contains_key(key)));
    if order.is_empty() { " ".to_owned() } else { format!("order={}", order.join(";")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn drives_are_printed_with_sorted_options() {
        let drive = Drive::parse("local:1,ssd=1,discard=on,size=64M");
        assert_eq!(drive.print(), "local:1,discard=on,size=64M,ssd=1");
        assert!(Drive::parse("local:110/vm-110-cloudinit.qcow2,media=cdrom").is_cloudinit());
    }

    #[test]
    fn the_boot_order_of_a_new_vm_is_disk_cdrom_card() {
        let section = |pairs: &[(&str, &str)]| -> Section {
            pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
        };
        for (pairs, wanted) in [
            (vec![], " "),
            (vec![("net1", "virtio")], "order=net1"),
            (
                vec![("scsi0", "a:1"), ("ide2", "a:cloudinit,media=cdrom"), ("net0", "virtio")],
                "order=scsi0;ide2;net0",
            ),
        ] {
            assert_eq!(default_boot(&section(&pairs)), wanted);
        }
    }
}
