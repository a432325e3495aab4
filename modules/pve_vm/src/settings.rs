//! The settings of a machine, by the names that users of `proxmox_kvm` know.
//!
//! They are declared here and nowhere else: [`crate::wanted`] reads them by their names and
//! [`pve_types::Setting`] knows how each is compared.

use std::collections::BTreeMap;

use pve_types::lenient::{is_false, is_true};
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::lined::Lined;

/// Slots of one family: `{net0: ..., net1: ...}`. A slot that is null is taken away.
pub(crate) type Slots = BTreeMap<String, Lined>;

/// What can be set.
#[derive(Debug, Clone, Default, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Settings {
    /// Whether the machine has ACPI, which an orderly shutdown without agent needs.
    pub(crate) acpi: Option<bool>,
    /// The host's processors that it may run on: `0,5,8-11`.
    pub(crate) affinity: Option<String>,
    /// The guest agent: V(true), or a line or mapping such as `enabled=1,fstrim_cloned_disks=1`.
    pub(crate) agent: Option<Lined>,
    /// Encrypted memory on AMD processors: `std,no-debug=1`.
    pub(crate) amd_sev: Option<Lined>,
    /// The architecture of its processor: `aarch64`.
    pub(crate) arch: Option<String>,
    /// Arguments that QEMU gets as they are. Only root may set them, with its password.
    pub(crate) args: Option<String>,
    /// Sound devices, `audio0`: `{audio0: {device: ich9-intel-hda, driver: spice}}`.
    pub(crate) audio: Option<Slots>,
    /// Whether it starts after a crash. PVE ignores it.
    pub(crate) autostart: Option<bool>,
    /// The least memory in MiB that ballooning leaves; 0 turns ballooning off.
    pub(crate) balloon: Option<u64>,
    /// The firmware.
    pub(crate) bios: Option<Bios>,
    /// The devices to start from: `order=scsi0;net0`.
    pub(crate) boot: Option<Lined>,
    /// The disk to start from, in the old form; O(boot) has replaced it.
    pub(crate) bootdisk: Option<String>,
    /// Own cloud-init files, as volumes: `user=local:snippets/user.yml`.
    pub(crate) cicustom: Option<Lined>,
    /// The form of the cloud-init drive.
    pub(crate) citype: Option<CiType>,
    /// Whether cloud-init upgrades all packages at the first start. A new machine with an image or
    /// with settings for cloud-init gets V(false) unless this says otherwise, because the upgrade
    /// holds the package lock for minutes.
    pub(crate) ciupgrade: Option<bool>,
    /// The user that cloud-init makes.
    pub(crate) ciuser: Option<String>,
    /// Settings by PVE's own keys, for those that have no option of their own:
    /// `{allow-ksm: 0, cpuunits: 200}`. They are compared as all others are; null takes one away.
    pub(crate) config: Option<Slots>,
    /// The number of cores per socket.
    #[schemars(range(min = 1))]
    pub(crate) cores: Option<u64>,
    /// The processor: a model, or a line or mapping such as `host,flags=+aes`.
    pub(crate) cpu: Option<Lined>,
    /// How many processors' time it may use.
    pub(crate) cpulimit: Option<f64>,
    /// Its share of the processors' time against other machines.
    pub(crate) cpuunits: Option<u64>,
    /// Notes.
    pub(crate) description: Option<String>,
    /// The disk of the UEFI firmware: `{storage: local, efitype: 4m, pre_enrolled_keys: true}`.
    pub(crate) efidisk0: Option<Lined>,
    /// Whether its processor is halted at the start.
    pub(crate) freeze: Option<bool>,
    /// A script that the host calls at each phase of its life: `local:snippets/hook.pl`. Only root
    /// may set it, with its password.
    pub(crate) hookscript: Option<String>,
    /// PCI devices of the host, `hostpci0` to `hostpci15`: `{hostpci0: {mapping: gpu, pcie: true}}`.
    /// A device without mapping may be set by root only, with its password.
    pub(crate) hostpci: Option<Slots>,
    /// What may be plugged while it runs: `network,disk,usb`.
    pub(crate) hotplug: Option<String>,
    /// Huge pages for its memory: `any`, `2` or `1024` MiB.
    pub(crate) hugepages: Option<String>,
    /// Drives on the IDE bus, `ide0` to `ide3`; see O(scsi).
    pub(crate) ide: Option<Slots>,
    /// What cloud-init gives each interface: `{ipconfig0: "ip=10.0.0.5/24,gw=10.0.0.1"}`.
    pub(crate) ipconfig: Option<Slots>,
    /// Memory shared with other processes of the host: `{size: 32, name: foo}`.
    pub(crate) ivshmem: Option<Lined>,
    /// Whether huge pages are kept after it stops.
    pub(crate) keephugepages: Option<bool>,
    /// The keyboard's language on the VNC console.
    pub(crate) keyboard: Option<String>,
    /// Whether it uses the processor's virtualisation.
    pub(crate) kvm: Option<bool>,
    /// Whether its clock shows local time.
    pub(crate) localtime: Option<bool>,
    /// The board: `q35`, or a line or mapping such as `q35,viommu=intel`.
    pub(crate) machine: Option<Lined>,
    /// Memory in MiB.
    pub(crate) memory: Option<Lined>,
    /// The longest standstill in seconds at a migration.
    pub(crate) migrate_downtime: Option<f64>,
    /// The highest speed of a migration in MB/s; 0 is no limit.
    pub(crate) migrate_speed: Option<u64>,
    /// Name servers for cloud-init.
    pub(crate) nameservers: Option<Vec<String>>,
    /// Network interfaces, `net0` to `net31`, each a line or a mapping:
    /// `{net0: {model: virtio, bridge: vmbr0, tag: 10}}`. The model is `virtio` if a new interface
    /// says none. Sub-options that are not given stay, null takes one away.
    pub(crate) net: Option<Slots>,
    /// NUMA nodes, `numa0` to `numa7`: `{numa0: {cpus: 0-1, memory: 1024, hostnodes: 0}}`.
    pub(crate) numa: Option<Slots>,
    /// Whether it sees NUMA nodes.
    pub(crate) numa_enabled: Option<bool>,
    /// Whether it starts with its node.
    pub(crate) onboot: Option<bool>,
    /// The operating system, for the server's choice of emulated hardware.
    pub(crate) ostype: Option<OsType>,
    /// Parallel ports of the host, `parallel0` to `parallel2`. Only root may set them, with its
    /// password.
    pub(crate) parallel: Option<Slots>,
    /// Whether it is protected against removal, and its disks with it.
    pub(crate) protection: Option<bool>,
    /// V(true) or V(false) is PVE's setting of this name: whether the machine may reboot, or stops
    /// when it does. V(if_required) is no setting: a running machine is shut down and started if
    /// something is pending that only this brings into force.
    pub(crate) reboot: Option<Reboot>,
    /// A source of random numbers: `source=/dev/urandom`.
    pub(crate) rng0: Option<Lined>,
    /// Drives on the SATA bus, `sata0` to `sata5`; see O(scsi).
    pub(crate) sata: Option<Slots>,
    /// Drives on the SCSI bus, `scsi0` to `scsi30`, each a line or a mapping:
    /// `{scsi0: {storage: local, size: 8G, discard: on, iothread: true}}`. O(image) or `import_from`
    /// is the source of a new disk. The size is absolute: a disk is grown to it, and never shrunk.
    pub(crate) scsi: Option<Slots>,
    /// The SCSI controller.
    pub(crate) scsihw: Option<ScsiHardware>,
    /// Domains to search, for cloud-init.
    pub(crate) searchdomains: Option<Vec<String>>,
    /// Serial ports, `serial0` to `serial3`: `{serial0: socket}`.
    pub(crate) serial: Option<Slots>,
    /// Its share of memory against other machines when ballooning.
    pub(crate) shares: Option<u64>,
    /// What the firmware says about the machine: `manufacturer=Q,base64=1`. The UUID and all other
    /// fields that are not given stay.
    #[schemars(extend("x-aliases" = ["smbios1"]))]
    pub(crate) smbios: Option<Lined>,
    /// The number of sockets.
    #[schemars(range(min = 1))]
    pub(crate) sockets: Option<u64>,
    /// What SPICE offers beyond a display: `{foldersharing: true, videostreaming: all}`.
    pub(crate) spice_enhancements: Option<Lined>,
    /// Public keys for the cloud-init user, one a line. The text of the keys, not a path.
    pub(crate) sshkeys: Option<String>,
    /// The clock's start: `now`, or a date.
    pub(crate) startdate: Option<String>,
    /// Order and delays when it starts with its node: `order=3,up=10`.
    pub(crate) startup: Option<Lined>,
    /// Whether it has a tablet as pointing device.
    pub(crate) tablet: Option<bool>,
    /// Labels. All of them: one that is not in the list is taken away.
    pub(crate) tags: Option<Vec<String>>,
    /// Whether its clock is kept when ticks are lost.
    pub(crate) tdf: Option<bool>,
    /// The state of the TPM: `{storage: local, version: v2.0}`.
    pub(crate) tpmstate0: Option<Lined>,
    /// Detached disks, `unused0` and so on, as volumes. A null removes the volume for good.
    pub(crate) unused: Option<Slots>,
    /// USB devices, `usb0` to `usb13`: `{usb0: {mapping: key, usb3: true}}`, or `spice`. A device
    /// without mapping may be set by root only, with its password.
    pub(crate) usb: Option<Slots>,
    /// The number of processors that are plugged in at the start.
    pub(crate) vcpus: Option<u64>,
    /// The display: `serial0`, or a line or mapping such as `qxl,memory=32`.
    pub(crate) vga: Option<Lined>,
    /// Drives on the VirtIO bus, `virtio0` to `virtio15`; see O(scsi).
    pub(crate) virtio: Option<Slots>,
    /// Folders of the host that it shares, `virtiofs0` to `virtiofs9`:
    /// `{virtiofs0: {dirid: share, cache: always}}`.
    pub(crate) virtiofs: Option<Slots>,
    /// The identity that changes when it is set back or copied; `1` makes one, `0` has none.
    pub(crate) vmgenid: Option<String>,
    /// The storage for its memory when it hibernates.
    pub(crate) vmstatestorage: Option<String>,
    /// A watchdog: `i6300esb,action=reset`.
    pub(crate) watchdog: Option<Lined>,
}

/// PVE's setting, or the wish to restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reboot {
    /// The setting.
    Allowed(bool),
    /// The wish.
    IfRequired,
}

impl JsonSchema for Reboot {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Reboot".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

impl Serialize for Reboot {
    /// As a setting: the wish is none.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Allowed(allowed) => serializer.serialize_bool(*allowed),
            Self::IfRequired => serializer.serialize_none(),
        }
    }
}

impl<'de> Deserialize<'de> for Reboot {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = pve_types::lenient::text(deserializer)?;
        match text.as_str() {
            "if_required" => Ok(Self::IfRequired),
            text if is_true(text) => Ok(Self::Allowed(true)),
            text if is_false(text) => Ok(Self::Allowed(false)),
            _ => Err(D::Error::custom(format!("'{text}' is not true, false or if_required"))),
        }
    }
}

/// The firmware.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Bios {
    /// A classic BIOS.
    Seabios,
    /// UEFI; O(efidisk0) keeps its variables.
    Ovmf,
}

/// The form of the cloud-init drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CiType {
    /// For Windows.
    Configdrive2,
    /// For all others.
    Nocloud,
    /// For OpenNebula images.
    Opennebula,
}

/// The operating system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum OsType {
    /// Anything else.
    Other,
    /// Windows XP.
    Wxp,
    /// Windows 2000.
    W2k,
    /// Windows 2003.
    W2k3,
    /// Windows 2008.
    W2k8,
    /// Windows Vista.
    Wvista,
    /// Windows 7.
    Win7,
    /// Windows 8, 2012.
    Win8,
    /// Windows 10, 2016, 2019.
    Win10,
    /// Windows 11, 2022, 2025.
    Win11,
    /// Linux 2.4.
    L24,
    /// Linux 2.6 and later.
    L26,
    /// Solaris and its kin.
    Solaris,
}

/// The SCSI controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum ScsiHardware {
    /// LSI 53C895A.
    Lsi,
    /// LSI 53C810.
    Lsi53c810,
    /// MegaRAID.
    Megasas,
    /// VMware's.
    Pvscsi,
    /// VirtIO, one for all disks.
    VirtioScsiPci,
    /// VirtIO, one for each disk, as `iothread` needs.
    VirtioScsiSingle,
}
