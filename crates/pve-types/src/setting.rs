//! What kind of value each key of a VM's configuration has, and when two values of it are equal.
//!
//! A key that is not listed is text; so a newer server's keys are compared and kept all the same.

use std::collections::BTreeSet;

use crate::lenient::{is_false, is_true};
use crate::property::devices;
use crate::property::{
    Agent, Boot, CpuModel, Disk, Grammar, IpConfig, Kind, Machine, MemoryString, NetDevice, Smbios,
    Startup, Vga,
};
use crate::{Description, SshKeys, Tags};

/// What kind of value a key has.
#[derive(Debug, Clone, Copy)]
pub enum Setting {
    /// 0 or 1.
    Flag,
    /// A number.
    Number,
    /// Text.
    Text,
    /// Words with blanks, commas or semicolons between them.
    Words,
    /// Words of which the order does not matter.
    WordSet,
    /// Labels.
    Tags,
    /// Notes.
    Description,
    /// Public keys, percent-encoded.
    SshKeys,
    /// What the server never shows again.
    Secret,
    /// A property string.
    Line(&'static Grammar),
}

const FLAGS: [&str; 17] = [
    "acpi",
    "allow-ksm",
    "autostart",
    "ciupgrade",
    "freeze",
    "keephugepages",
    "kvm",
    "localtime",
    "numa",
    "onboot",
    "protection",
    "reboot",
    "tablet",
    "tdf",
    "template",
    "ha-managed",
    "unique",
];

const NUMBERS: [&str; 10] = [
    "balloon",
    "cores",
    "cpulimit",
    "cpuunits",
    "migrate_downtime",
    "migrate_speed",
    "shares",
    "smp",
    "sockets",
    "vcpus",
];

/// What the server takes a missing key for, where that does not depend on the node.
const DEFAULTS: [(&str, &str); 25] = [
    ("acpi", "1"),
    ("agent", "0"),
    ("allow-ksm", "1"),
    ("autostart", "0"),
    ("bios", "seabios"),
    ("ciupgrade", "1"),
    ("cores", "1"),
    ("cpu", "kvm64"),
    ("cpulimit", "0"),
    ("freeze", "0"),
    ("hotplug", "network,disk,usb"),
    ("keephugepages", "0"),
    ("kvm", "1"),
    ("memory", "512"),
    ("numa", "0"),
    ("onboot", "0"),
    ("ostype", "other"),
    ("protection", "0"),
    ("reboot", "1"),
    ("scsihw", "lsi"),
    ("shares", "1000"),
    ("sockets", "1"),
    ("tablet", "1"),
    ("tdf", "0"),
    ("vcpus", "0"),
];

impl Setting {
    /// What kind of value a VM's key has.
    #[must_use]
    pub fn of(key: &str) -> Self {
        if FLAGS.contains(&key) {
            return Self::Flag;
        }
        if NUMBERS.contains(&key) {
            return Self::Number;
        }
        match key {
            "tags" => return Self::Tags,
            "description" => return Self::Description,
            "sshkeys" => return Self::SshKeys,
            "cipassword" => return Self::Secret,
            "nameserver" | "searchdomain" => return Self::Words,
            "hotplug" => return Self::WordSet,
            "amd-sev" => return Self::Line(&devices::SEV),
            "intel-tdx" => return Self::Line(&devices::TDX),
            "agent" => return Self::Line(Agent::GRAMMAR),
            "audio0" => return Self::Line(&devices::AUDIO),
            "boot" => return Self::Line(Boot::GRAMMAR),
            "cicustom" => return Self::Line(&devices::CICUSTOM),
            "cpu" => return Self::Line(CpuModel::GRAMMAR),
            "ivshmem" => return Self::Line(&devices::IVSHMEM),
            "machine" => return Self::Line(Machine::GRAMMAR),
            "memory" => return Self::Line(MemoryString::GRAMMAR),
            "rng0" => return Self::Line(&devices::RNG),
            "smbios1" => return Self::Line(Smbios::GRAMMAR),
            "spice_enhancements" => return Self::Line(&devices::SPICE),
            "startup" => return Self::Line(Startup::GRAMMAR),
            "vga" => return Self::Line(Vga::GRAMMAR),
            "efidisk0" => return Self::Line(Disk::EFI),
            "tpmstate0" => return Self::Line(Disk::TPM),
            "watchdog" => return Self::Line(&devices::WATCHDOG),
            _ => {}
        }
        match slot(key) {
            Some(("net", _)) => Self::Line(NetDevice::GRAMMAR),
            Some(("hostpci", _)) => Self::Line(&devices::HOST_PCI),
            Some(("numa", _)) => Self::Line(&devices::NUMA),
            Some(("usb", _)) => Self::Line(&devices::USB),
            Some(("virtiofs", _)) => Self::Line(&devices::VIRTIOFS),
            Some(("ipconfig", _)) => Self::Line(IpConfig::GRAMMAR),
            Some(("ide", _)) => Self::Line(Disk::IDE),
            Some(("sata", _)) => Self::Line(Disk::SATA),
            Some(("scsi", _)) => Self::Line(Disk::SCSI),
            Some(("virtio", _)) => Self::Line(Disk::VIRTIO),
            Some(("unused", _)) => Self::Line(Disk::UNUSED),
            Some((bus, _)) if DISK_BUSES.contains(&bus) => Self::Line(Disk::GRAMMAR),
            _ => Self::Text,
        }
    }

    /// Whether two values mean the same.
    #[must_use]
    pub fn same(self, one: &str, other: &str) -> bool {
        if one.trim() == other.trim() {
            return true;
        }
        match self {
            Self::Text | Self::Secret => false,
            Self::Flag => is_true(one) && is_true(other) || is_false(one) && is_false(other),
            Self::Number => Kind::Number.same(one, other),
            Self::Words => words(one).eq(words(other)),
            Self::WordSet => set(one) == set(other),
            Self::Tags => {
                matches!((one.parse::<Tags>(), other.parse::<Tags>()), (Ok(a), Ok(b)) if a == b)
            }
            Self::Description => Description::new(one) == Description::new(other),
            Self::SshKeys => SshKeys::decode(one) == SshKeys::decode(other),
            Self::Line(grammar) => grammar.same(one, other),
        }
    }

    /// Whether a wanted value is so, a missing key being the server's default.
    #[must_use]
    pub fn holds(self, key: &str, current: Option<&str>, wanted: &str) -> bool {
        // by 1 PVE makes an identity, and one that was made is as good as another
        if key == "vmgenid" && wanted.trim() == "1" {
            return current.is_some_and(|value| value != "0");
        }
        let default = || DEFAULTS.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        current.or_else(default).is_some_and(|value| self.same(value, wanted))
    }
}

/// The families of drives, the two that stand alone and the detached ones included.
pub const DISK_BUSES: [&str; 7] =
    ["ide", "sata", "scsi", "virtio", "efidisk", "tpmstate", "unused"];

/// A key's family and index: `scsi0` is `scsi` and 0. `x86` is not a slot of a family `x`.
#[must_use]
pub fn slot(key: &str) -> Option<(&str, u8)> {
    let at = key.find(|c: char| c.is_ascii_digit())?;
    let (family, index) = key.split_at(at);
    let canonical = index == "0" || !index.starts_with('0');
    let letters = !family.is_empty() && family.bytes().all(|byte| byte.is_ascii_lowercase());
    (canonical && letters).then_some(())?;
    Some((family, index.parse().ok()?))
}

/// What PVE means by `hotplug=1` is its default, by 0 nothing at all.
fn set(text: &str) -> BTreeSet<&str> {
    match text.trim() {
        "1" => words("network,disk,usb").collect(),
        "0" => BTreeSet::new(),
        text => words(text).collect(),
    }
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split([' ', ',', ';', '\n', '\t']).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_compare_by_meaning() {
        for (key, one, other, same) in [
            ("onboot", "1", "true", true),
            ("onboot", "0", "1", false),
            ("cores", "02", "2", true),
            ("memory", "2048", "current=2048", true),
            ("tags", "web;prod", "Prod,web", true),
            ("tags", " ", "", true),
            ("description", "a\nb", "a\nb\n", true),
            ("description", "owner=ops", "owner=dev", false),
            ("nameserver", "1.1.1.1 9.9.9.9", "1.1.1.1,9.9.9.9", true),
            ("nameserver", "1.1.1.1 9.9.9.9", "9.9.9.9 1.1.1.1", false),
            ("sshkeys", "ssh-rsa%20AAAA%0A", "ssh-rsa%20AAAA", true),
            ("boot", " ", "", true),
            ("ostype", "l26", "l24", false),
            ("net31", "virtio=BC:24:11:00:00:01", "virtio=bc:24:11:00:00:01", true),
            ("ipconfig2", "ip=10.0.0.1/8,gw=10.0.0.2", "gw=10.0.0.2,ip=10.0.0.1/8", true),
            ("hotplug", "usb,disk,network", "1", true),
            ("hotplug", "0", "network", false),
            ("hostpci0", "host=01:00.0,pcie=1,rombar=1", "01:00.0,pcie=yes", true),
            ("hostpci0", "mapping=gpu,pcie=1", "mapping=gpu", false),
            ("usb0", "host=1D6B:0002", "1d6b:0002,usb3=0", true),
            ("numa0", "cpus=0-1;4,memory=512", "memory=512.0,cpus=4;0-1", true),
            ("audio0", "device=AC97", "device=AC97,driver=spice", true),
            ("rng0", "source=/dev/urandom", "/dev/urandom,max_bytes=1024", true),
            ("watchdog", "model=i6300esb,action=reset", "action=reset", true),
            ("virtiofs0", "dirid=share", "share,cache=auto,direct-io=0", true),
            ("spice_enhancements", "foldersharing=1", "foldersharing=0", false),
            ("amd-sev", "type=std", "std,no-debug=0", true),
            ("not-yet-known", "a", "a", true),
            ("not-yet-known", "a", "b", false),
        ] {
            assert_eq!(Setting::of(key).same(one, other), same, "{key}: {one} | {other}");
        }
    }

    #[test]
    fn b29_a_missing_key_is_its_default() {
        for (key, wanted, holds) in [
            ("ciupgrade", "0", false),
            ("ciupgrade", "1", true),
            ("onboot", "0", true),
            ("agent", "enabled=0", true),
            ("cores", "1", true),
            ("ciuser", "admin", false),
            ("balloon", "0", false),
        ] {
            assert_eq!(Setting::of(key).holds(key, None, wanted), holds, "{key}={wanted}");
        }
    }

    #[test]
    fn an_identity_that_was_made_is_the_one_that_was_asked_for() {
        let made = Some("8dbc15c2-681f-4525-ab85-39d16533366a");
        for (current, wanted, holds) in [
            (made, "1", true),
            (None, "1", false),
            (Some("0"), "1", false),
            (Some("0"), "0", true),
            (made, "0", false),
        ] {
            assert_eq!(
                Setting::Text.holds("vmgenid", current, wanted),
                holds,
                "{current:?} {wanted}"
            );
        }
    }

    #[test]
    fn slots() {
        for (key, expected) in [
            ("scsi0", Some(("scsi", 0))),
            ("virtio15", Some(("virtio", 15))),
            ("net", None),
            ("scsi00", None),
            ("smbios1", Some(("smbios", 1))),
            ("spice_enhancements", None),
        ] {
            assert_eq!(slot(key), expected, "{key}");
        }
    }
}
