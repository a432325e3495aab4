//! The declaration: what a task may ask for.

use pve_client::ConnectOptions;
use pve_types::address::{Family, NetSlot, Policy};
use pve_types::{ConfigDigest, NodeName, PoolId, StorageId, Vmid, VolId};
use schemars::JsonSchema;
use secret::Secret;
use serde::{Deserialize, Serialize};

use crate::settings::Settings;

/// Create, change, start, stop and remove virtual machines of Proxmox VE.
///
/// What the task says is compared with what is there, by PVE's own meaning of each value, and only
/// the differences are written; what the task does not say stays as it is. MAC addresses and
/// volumes of an existing machine are never made anew. Check mode foretells every change, the
/// creation of a machine with its whole configuration included.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The connection to the API.
    #[serde(flatten)]
    pub(crate) connection: ConnectOptions,
    /// What the machine should be.
    #[serde(default)]
    pub(crate) state: State,
    /// The number of the machine. It decides which machine is meant; if O(name) is given as well, it
    /// must be that machine's name. Without it a new machine gets the next free number.
    #[serde(default)]
    pub(crate) vmid: Option<Vmid>,
    /// The name of the machine. Without O(vmid) it decides which machine is meant, and must be
    /// unique then.
    #[serde(default)]
    pub(crate) name: Option<String>,
    /// The node on which a new machine is made. An existing machine is worked on where it is now.
    #[serde(default)]
    pub(crate) node: Option<NodeName>,
    /// The pool that a new machine becomes a member of.
    #[serde(default)]
    pub(crate) pool: Option<PoolId>,
    /// The image that the first disk of a machine is made from, as a volume:
    /// `local:import/debian-13.qcow2`. Without effect on a machine that has a disk.
    #[serde(default)]
    pub(crate) image: Option<String>,
    /// The machine that a new one is a copy of, by its name or number. Of several with this name the
    /// one on the new machine's node is taken. What the task says beyond it is set in the copy.
    #[serde(default)]
    pub(crate) clone: Option<String>,
    /// The number of the copy, as `proxmox_kvm` calls it: together with it O(vmid) is the number of
    /// the machine that is copied. Without it O(vmid) is the copy's.
    #[serde(default)]
    pub(crate) newid: Option<Vmid>,
    /// Whether a copy has disks of its own. V(false) makes a linked copy, which a template only can
    /// be the base of.
    #[serde(default = "yes")]
    pub(crate) full: bool,
    /// The snapshot of O(clone) that is copied.
    #[serde(default)]
    pub(crate) snapname: Option<String>,
    /// The backup that a new machine is restored from, as a volume:
    /// `local:backup/vzdump-qemu-100-2026_01_31-00_00_00.vma.zst`.
    #[serde(default)]
    pub(crate) archive: Option<VolId>,
    /// Whether a machine restored from O(archive) gets new MAC addresses and a new identity, because
    /// the one that was saved still exists.
    #[serde(default)]
    pub(crate) unique: bool,
    /// The storage of the disks of a full copy or a restored machine, in place of where they are or
    /// were.
    #[serde(default)]
    pub(crate) storage: Option<StorageId>,
    /// The format of the disks of a full copy.
    #[serde(default)]
    pub(crate) format: Option<Format>,
    /// The node of a copy, as `proxmox_kvm` calls it; O(node) says the same.
    #[serde(default)]
    pub(crate) target: Option<NodeName>,
    /// Whether the machine becomes a template once it has its settings, as V(state=template) does.
    #[serde(default)]
    pub(crate) template: bool,
    /// The storage of the cloud-init drive that is added when a cloud-init option is given and
    /// there is no such drive. The storage of the first disk by default.
    #[serde(default)]
    pub(crate) cloudinit_storage: Option<StorageId>,
    /// The settings of the machine.
    #[serde(flatten)]
    pub(crate) settings: Settings,
    /// The password of the cloud-init user. PVE never shows it again, so it cannot be compared.
    #[serde(default)]
    pub(crate) cipassword: Option<Secret>,
    /// When O(cipassword) is written.
    #[serde(default)]
    pub(crate) update_password: UpdatePassword,
    /// Settings to take away, by PVE's names: `[description, net1]`. A disk is only detached.
    #[serde(default)]
    pub(crate) delete: Vec<String>,
    /// Settings whose pending value is dropped, so that the one in force stays: `[memory]`.
    #[serde(default)]
    pub(crate) revert: Vec<String>,
    /// The digest that the configuration of an existing machine must have, as RV(digest) told it
    /// before; if it has another by now, nothing is done.
    #[serde(default)]
    pub(crate) digest: Option<ConfigDigest>,
    /// Whether an existing machine's settings are changed.
    #[serde(default = "yes")]
    pub(crate) update: bool,
    /// Let a machine that does not shut down in time be stopped hard, and V(absent) and V(template)
    /// stop a running machine.
    #[serde(default)]
    pub(crate) force: bool,
    /// Whether V(absent) also takes the machine out of backup jobs, replication and HA.
    #[serde(default)]
    pub(crate) purge: bool,
    /// Whether V(absent) also removes volumes of the machine's number that its configuration does
    /// not name.
    #[serde(default)]
    pub(crate) destroy_unreferenced_disks: bool,
    /// Whether a machine on another node than O(node) is moved there.
    #[serde(default)]
    pub(crate) migrate: bool,
    /// Whether a running machine is moved while it runs.
    #[serde(default = "yes")]
    pub(crate) online: bool,
    /// Whether volumes that only the old node has are copied to the new one.
    #[serde(default)]
    pub(crate) with_local_disks: bool,
    /// The storage on the new node for those volumes.
    #[serde(default)]
    pub(crate) targetstorage: Option<String>,
    /// Whether a disk that is on another storage than the task says is moved there. The volume it
    /// was is removed. Otherwise that is a failure.
    #[serde(default, rename = "move")]
    pub(crate) move_disks: bool,
    /// What a started machine waits for.
    #[serde(default)]
    pub(crate) wait_for: WaitFor,
    /// How many seconds a task of PVE, a lock of the machine or what O(wait_for) says is waited for.
    #[serde(default = "wait_timeout")]
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout"]))]
    pub(crate) wait_timeout: u64,
    /// How many seconds a machine has to shut down.
    #[serde(default = "shutdown_timeout")]
    #[schemars(range(min = 1))]
    pub(crate) shutdown_timeout: u64,
    /// The interface whose MAC address decides about the machine's address, in place of the
    /// lowest-numbered one: `net1`.
    #[serde(default)]
    pub(crate) address_net: Option<NetSlot>,
    /// The family of addresses that is taken if the interface has both.
    #[serde(default)]
    pub(crate) address_family: Family,
}

fn yes() -> bool {
    true
}

fn wait_timeout() -> u64 {
    300
}

fn shutdown_timeout() -> u64 {
    120
}

/// What the machine should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// There, with these settings, running or not.
    #[default]
    Present,
    /// There, with these settings, and running.
    Started,
    /// There, with these settings, and not running.
    Stopped,
    /// There, with these settings, and running, shut down and started if it ran before. That is a
    /// change each time.
    Restarted,
    /// There, with these settings, and running, but with its processors halted.
    Paused,
    /// There, with these settings, its memory written to disk, and not running. O(state=started)
    /// lets it go on.
    Hibernated,
    /// There, with these settings, and a template; a running machine only with O(force).
    Template,
    /// Not there.
    Absent,
    /// As it is: nothing is changed, what is there is returned.
    Current,
}

/// What a started machine is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum WaitFor {
    /// That it runs.
    #[default]
    Running,
    /// That its agent answers.
    Agent,
    /// That the interface with the MAC address of its first NIC has an address.
    Address,
    /// Nothing.
    None,
}

/// When a password is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum UpdatePassword {
    /// When the machine is made, or has none yet.
    #[default]
    OnCreate,
    /// Each time, which is a change each time.
    Always,
}

/// The format of a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    /// QEMU's own, with snapshots.
    Qcow2,
    /// As it is.
    Raw,
    /// VMware's.
    Vmdk,
}

impl Format {
    /// PVE's word.
    #[must_use]
    pub(crate) fn word(self) -> &'static str {
        match self {
            Self::Qcow2 => "qcow2",
            Self::Raw => "raw",
            Self::Vmdk => "vmdk",
        }
    }
}

impl Params {
    /// The number of the machine that is meant.
    #[must_use]
    pub(crate) fn vmid(&self) -> Option<Vmid> {
        if self.clone.is_some() { self.newid.or(self.vmid) } else { self.vmid.or(self.newid) }
    }

    /// The node of a machine that is yet to be made.
    #[must_use]
    pub(crate) fn node(&self) -> Option<&NodeName> {
        self.target.as_ref().or(self.node.as_ref())
    }

    /// Whether the machine shall be a template.
    #[must_use]
    pub(crate) fn is_template(&self) -> bool {
        self.template || self.state == State::Template
    }

    /// How an address is chosen.
    #[must_use]
    pub(crate) fn policy(&self) -> Policy {
        Policy { net: self.address_net, prefer: self.address_family, ..Policy::default() }
    }

    /// Whether the machine's own word is asked for.
    #[must_use]
    pub(crate) fn asks_guest(&self) -> bool {
        matches!(self.wait_for, WaitFor::Address | WaitFor::Agent)
    }
}
