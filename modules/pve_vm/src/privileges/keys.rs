//! What single keys of a configuration need.

use pve_types::property::{Disk, Options};
use pve_types::{Setting, slot};

use crate::plan::cloudinit::is_cloudinit;
use crate::plan::create::is_drive;

/// The privilege on the machine that a key needs.
pub(super) fn of_key(key: &str, line: &str) -> &'static [&'static str] {
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

/// Whether PVE dies with `only root can set`.
pub(super) fn is_root_only(key: &str, line: &str) -> bool {
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
        _ if is_drive(key) => Disk::new(line).get("file").is_some_and(|file| file.starts_with('/')),
        _ => false,
    }
}
