//! What is returned.

use std::collections::BTreeMap;

use pve_types::address::{Reason, Source};
use pve_types::{NodeName, Vmid};
use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

/// What is returned.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The machines that were asked for, by number; an empty list if there is none.
    pub(crate) vms: Vec<Vm>,
    /// The numbers that are taken in the cluster, in ascending order: those of all virtual machines
    /// and containers that PVE lists to the caller, whatever the task asked for. Of a guest that the
    /// caller may not see (`VM.Audit`) the number is not in it.
    pub(crate) taken: Vec<Vmid>,
}

/// One machine, as far as it could be read.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Vm {
    /// Its number.
    pub(crate) vmid: Vmid,
    /// The node it is on.
    pub(crate) node: NodeName,
    /// Its name.
    pub(crate) name: Option<String>,
    /// What it does: `running`, `stopped`, `paused`; `unknown` if its node does not say.
    pub(crate) status: String,
    /// Whether it is a template.
    pub(crate) template: bool,
    /// Its tags.
    pub(crate) tags: Vec<String>,
    /// Its pool.
    pub(crate) pool: Option<String>,
    /// What it is locked by.
    pub(crate) lock: Option<String>,
    /// Seconds since it was started.
    pub(crate) uptime: Option<u64>,
    /// Its configuration in PVE's keys, as it will be after the next start; passwords masked. None
    /// unless O(config) asked for it.
    pub(crate) config: Option<BTreeMap<String, String>>,
    /// The same as structures: property strings as mappings, lists as lists, numbers and truth
    /// values as such.
    pub(crate) config_parsed: Option<BTreeMap<String, Value>>,
    /// What waits for the next stop and start, by key; the value is null if the key goes away.
    pub(crate) pending: Option<BTreeMap<String, Option<String>>>,
    /// Its snapshots, the oldest first. None unless O(snapshots) asked for them.
    pub(crate) snapshots: Option<Vec<SnapshotRow>>,
    /// The address to reach it by. None unless O(address) asked for it.
    pub(crate) address: Option<String>,
    /// How the address is known.
    pub(crate) address_source: Option<Source>,
    /// Why there is no address, or why it is only configured.
    pub(crate) address_reason: Option<Reason>,
    /// Why something that was asked for is missing here.
    pub(crate) reason: Option<String>,
}

/// One snapshot.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct SnapshotRow {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// The snapshot it was made on.
    pub(crate) parent: Option<String>,
    /// When it was made, in seconds since 1970.
    pub(crate) snaptime: Option<u64>,
    /// Whether it holds the memory.
    pub(crate) vmstate: bool,
}
