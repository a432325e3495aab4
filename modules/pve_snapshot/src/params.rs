//! The declaration: what a task may ask for.

use pve_client::ConnectOptions;
use pve_types::{Pattern, Vmid};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Take, remove and go back to snapshots of virtual machines of Proxmox VE.
///
/// A snapshot is known by its name. One that is there is not taken anew; only its description can
/// be changed. Removing one in the middle keeps its children: they stand on its parent then.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The connection to the API.
    #[serde(flatten)]
    pub(crate) connection: ConnectOptions,
    /// What should be.
    #[serde(default)]
    pub(crate) state: State,
    /// The number of the machine. It decides which machine is meant; if O(name) is given as well, it
    /// must be that machine's name.
    #[serde(default)]
    pub(crate) vmid: Option<Vmid>,
    /// The name of the machine, which must be unique in the cluster. Not needed when O(vmid) is
    /// given.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["hostname"]))]
    pub(crate) name: Option<String>,
    /// The name of the snapshot: a letter, then letters, digits, `-` and `_`, from 2 to 40
    /// characters.
    pub(crate) snapname: String,
    /// What the snapshot is for. An empty text takes the description away; without this option it
    /// stays as it is.
    #[serde(default)]
    pub(crate) description: Option<String>,
    /// Whether a new snapshot of a running machine holds its memory, so that going back to it lets
    /// the machine go on from there.
    #[serde(default)]
    pub(crate) vmstate: bool,
    /// How many snapshots of O(retention_pattern) are kept by V(present), the one of O(snapname)
    /// among them. The oldest ones beyond that are removed, by the time they were taken and then by
    /// name; the one of O(snapname) never is, nor is any that the pattern does not match.
    #[serde(default)]
    #[schemars(range(min = 1))]
    pub(crate) retention: Option<u32>,
    /// Which snapshots O(retention) counts and removes, for example `nightly-*`: V(*) and V(?) stand
    /// for any characters and for one. O(snapname) must be one of them.
    #[serde(default)]
    pub(crate) retention_pattern: Option<Pattern>,
    /// Whether V(rollback) starts the machine afterwards. One whose snapshot holds its memory goes on
    /// in any case.
    #[serde(default)]
    pub(crate) start: bool,
    /// Whether V(absent) takes the snapshot out of the configuration even if a disk's part of it
    /// cannot be removed.
    #[serde(default)]
    pub(crate) force: bool,
    /// How many seconds a task of PVE or a lock of the machine is waited for.
    #[serde(default = "wait_timeout")]
    #[schemars(range(min = 1), extend("x-aliases" = ["timeout"]))]
    pub(crate) wait_timeout: u64,
}

fn wait_timeout() -> u64 {
    300
}

/// What should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The snapshot is there.
    #[default]
    Present,
    /// The snapshot is not there.
    Absent,
    /// The machine is as it was when the snapshot was taken. It cannot be seen whether it already
    /// is, so this is a change each time.
    Rollback,
}
