//! The keys of a VM's configuration that PVE 8.4 or 9.2 knows, and the value sets of those that
//! are plain words. For what a user writes; a server may know more.

use crate::property::{Limit, is_uuid};
use crate::slot;

/// Families of slots and how many slots each has.
pub const FAMILIES: [(&str, u16); 14] = [
    ("audio", 1),
    ("hostpci", 16),
    ("ide", 4),
    ("ipconfig", 32),
    ("net", 32),
    ("numa", 8),
    ("parallel", 3),
    ("sata", 6),
    ("scsi", 31),
    ("serial", 4),
    ("unused", 256),
    ("usb", 14),
    ("virtio", 16),
    ("virtiofs", 10),
];

const KEYS: [&str; 65] = [
    "acpi",
    "affinity",
    "agent",
    "allow-ksm",
    "amd-sev",
    "arch",
    "args",
    "autostart",
    "balloon",
    "bios",
    "boot",
    "bootdisk",
    "cicustom",
    "cipassword",
    "citype",
    "ciupgrade",
    "ciuser",
    "cores",
    "cpu",
    "cpulimit",
    "cpuunits",
    "description",
    "efidisk0",
    "freeze",
    "hookscript",
    "hotplug",
    "hugepages",
    "intel-tdx",
    "ivshmem",
    "keephugepages",
    "keyboard",
    "kvm",
    "localtime",
    "machine",
    "memory",
    "migrate_downtime",
    "migrate_speed",
    "name",
    "nameserver",
    "numa",
    "onboot",
    "ostype",
    "protection",
    "reboot",
    "rng0",
    "scsihw",
    "searchdomain",
    "shares",
    "smbios1",
    "smp",
    "sockets",
    "spice_enhancements",
    "sshkeys",
    "startdate",
    "startup",
    "tablet",
    "tags",
    "tdf",
    "template",
    "tpmstate0",
    "vcpus",
    "vga",
    "vmgenid",
    "vmstatestorage",
    "watchdog",
];

/// Keys whose value is one of a closed set.
const CHOICES: [(&str, &[&str]); 7] = [
    ("arch", &["x86_64", "aarch64"]),
    ("bios", &["seabios", "ovmf"]),
    ("citype", &["configdrive2", "nocloud", "opennebula"]),
    ("hugepages", &["any", "2", "1024"]),
    (
        "keyboard",
        &[
            "de", "de-ch", "da", "en-gb", "en-us", "es", "fi", "fr", "fr-be", "fr-ca", "fr-ch",
            "hu", "is", "it", "ja", "lt", "mk", "nl", "no", "pl", "pt", "pt-br", "sv", "sl", "tr",
        ],
    ),
    (
        "ostype",
        &[
            "other", "wxp", "w2k", "w2k3", "w2k8", "wvista", "win7", "win8", "win10", "win11",
            "l24", "l26", "solaris",
        ],
    ),
    ("scsihw", &["lsi", "lsi53c810", "virtio-scsi-pci", "virtio-scsi-single", "megasas", "pvscsi"]),
];

/// Keys whose value has other limits. What PVE takes for a number may be 0 for "no limit".
const LIMITS: [(&str, Limit); 13] = [
    ("balloon", Limit::Whole(0, u64::MAX)),
    ("cores", Limit::Whole(1, u64::MAX)),
    ("cpulimit", Limit::Number(0.0, 128.0)),
    ("cpuunits", Limit::Whole(1, 262_144)),
    ("migrate_downtime", Limit::ANY),
    ("migrate_speed", Limit::Whole(0, u64::MAX)),
    ("shares", Limit::Whole(0, 50_000)),
    ("smp", Limit::Whole(1, u64::MAX)),
    ("sockets", Limit::Whole(1, u64::MAX)),
    ("startdate", Limit::Form(is_date, "now, 2026-01-31 or 2026-01-31T16:01:21")),
    ("vcpus", Limit::Whole(1, u64::MAX)),
    (
        "vmgenid",
        Limit::Form(
            |text| matches!(text, "0" | "1") || is_uuid(text),
            "a UUID, 1 for a new one, or 0",
        ),
    ),
    ("bootdisk", Limit::Form(is_drive, "a drive such as scsi0")),
];

fn is_date(text: &str) -> bool {
    let numbers = |text: &str, separator: char, lengths: [std::ops::RangeInclusive<usize>; 3]| {
        let parts: Vec<&str> = text.split(separator).collect();
        parts.len() == 3
            && parts.iter().zip(lengths).all(|(part, length)| {
                length.contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit())
            })
    };
    let (day, time) = text.split_once('T').unwrap_or((text, "0:0:0"));
    text == "now"
        || numbers(day, '-', [4..=4, 1..=2, 1..=2]) && numbers(time, ':', [1..=2, 1..=2, 1..=2])
}

fn is_drive(text: &str) -> bool {
    slot(text).is_some_and(|(family, _)| ["ide", "sata", "scsi", "virtio"].contains(&family))
}

/// What may be plugged while a machine runs.
const HOTPLUG: [&str; 6] = ["network", "disk", "cpu", "memory", "usb", "cloudinit"];

/// Checks that a key is one of PVE's.
///
/// # Errors
/// Names the key and those that are allowed.
pub fn check_setting(key: &str) -> Result<(), String> {
    let in_family = slot(key).is_some_and(|(family, index)| {
        FAMILIES.iter().any(|(name, count)| *name == family && u16::from(index) < *count)
    });
    if in_family || KEYS.contains(&key) {
        return Ok(());
    }
    let mut allowed: Vec<String> = KEYS.iter().map(|key| (*key).to_owned()).collect();
    allowed.extend(FAMILIES.iter().map(|(family, count)| match count {
        1 => format!("{family}0"),
        _ => format!("{family}0 to {family}{}", count - 1),
    }));
    Err(format!("unknown key '{key}'; allowed are {}", allowed.join(", ")))
}

/// Checks the value of a key that is no property string, as far as its values are
/// limited.
///
/// # Errors
/// Names the value and what is allowed.
pub fn check_words(key: &str, value: &str) -> Result<(), String> {
    if key == "hotplug" {
        let word = value
            .split([',', ';', ' '])
            .find(|word| !word.is_empty() && !HOTPLUG.contains(word))
            .filter(|_| !matches!(value.trim(), "0" | "1"));
        return word.map_or(Ok(()), |word| {
            let allowed = HOTPLUG.join(", ");
            Err(format!("'{word}' is not one of {allowed}; 0 is none of them, 1 the default"))
        });
    }
    if let Some((_, limit)) = LIMITS.iter().find(|(name, _)| *name == key) {
        return limit.check(value);
    }
    match CHOICES.iter().find(|(name, _)| *name == key) {
        Some((_, choices)) if !choices.contains(&value) => {
            Err(format!("'{value}' is not one of {}", choices.join(", ")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_are_not_pves() {
        for key in ["cores", "watchdog", "scsi30", "net0", "audio0", "allow-ksm", "virtiofs9"] {
            assert_eq!(check_setting(key), Ok(()), "{key}");
        }
        for key in ["foo", "scsi31", "net32", "net00", "Cores", "nameservers", "audio1"] {
            let error = check_setting(key).unwrap_err();
            let start = format!("unknown key '{key}'; allowed are acpi, affinity, ");
            assert!(error.starts_with(&start), "{error}");
            assert!(error.contains("watchdog, audio0, hostpci0 to hostpci15"), "{error}");
        }
    }

    #[test]
    fn words_of_closed_sets() {
        for (key, value, text) in [
            ("hotplug", "network,disk,usb", ""),
            ("hotplug", "0", ""),
            ("hotplug", "1", ""),
            ("hotplug", "network;dsk", "'dsk' is not one of network, disk, cpu, memory, usb"),
            ("hugepages", "4", "'4' is not one of any, 2, 1024"),
            ("ostype", "l27", "'l27' is not one of other"),
            ("keyboard", "de", ""),
            ("shares", "60000", "'60000' is not a whole number from 0 to 50000"),
            ("cpulimit", "200", "'200' is not a number from 0 to 128"),
            ("cpulimit", "1.5", ""),
            ("cpuunits", "0", "'0' is not a whole number from 1 to 262144"),
            ("startdate", "tomorrow", "'tomorrow' is not of the form: now, 2026-01-31 or"),
            ("startdate", "2026-01-31T16:01:21", ""),
            ("startdate", "now", ""),
            ("vmgenid", "abc", "'abc' is not of the form: a UUID, 1 for a new one, or 0"),
            ("vmgenid", "1", ""),
            ("bootdisk", "disk0", "'disk0' is not of the form: a drive such as scsi0"),
            ("ciuser", "anyone", ""),
        ] {
            let said = check_words(key, value).err().unwrap_or_default();
            assert!(said.starts_with(text) && said.is_empty() == text.is_empty(), "{said}");
        }
    }
}
