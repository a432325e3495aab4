//! The declaration: what a task may ask for.

use pve_client::ConnectOptions;
use pve_types::address::{Family, NetSlot, Policy};
use pve_types::{NodeName, Pattern, Vmid};
use schemars::JsonSchema;
use serde::Deserialize;

/// Tell what the virtual machines of Proxmox VE are.
///
/// Nothing is ever changed. A machine that cannot be read gives its reason, and the others their
/// data. Machines that the caller may not see (`VM.Audit`) are not listed by PVE.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The connection to the API.
    #[serde(flatten)]
    pub(crate) connection: ConnectOptions,
    /// Only the machine of this number.
    #[serde(default)]
    pub(crate) vmid: Option<Vmid>,
    /// Only machines of this name; V(*) and V(?) stand for any characters and for one.
    #[serde(default)]
    pub(crate) name: Option<Pattern>,
    /// Only machines that have all of these tags.
    #[serde(default)]
    pub(crate) tags: Option<Vec<String>>,
    /// Only members of this pool.
    #[serde(default)]
    pub(crate) pool: Option<String>,
    /// Only machines that are on this node now.
    #[serde(default)]
    pub(crate) node: Option<NodeName>,
    /// Only machines of this status: V(running), V(stopped), V(paused). A paused machine is not
    /// V(running) here.
    #[serde(default)]
    pub(crate) status: Option<String>,
    /// Whether the configuration is returned, with what waits for the next start.
    #[serde(default)]
    pub(crate) config: bool,
    /// Whether the snapshots are returned.
    #[serde(default)]
    pub(crate) snapshots: bool,
    /// Whether the address is returned, or why there is none. Machines that run are asked through
    /// their guest agent; one whose agent is silent takes 3 s.
    #[serde(default)]
    pub(crate) address: bool,
    /// The interface whose MAC address decides about the address, in place of the lowest-numbered
    /// one: `net1`.
    #[serde(default)]
    pub(crate) address_net: Option<NetSlot>,
    /// The family of addresses that is taken if the interface has both.
    #[serde(default)]
    pub(crate) address_family: Family,
}

impl Params {
    /// How an address is chosen.
    #[must_use]
    pub(crate) fn policy(&self) -> Policy {
        Policy { net: self.address_net, prefer: self.address_family, ..Policy::default() }
    }

    /// Whether a machine of these tags is meant.
    #[must_use]
    pub(crate) fn has_tags(&self, tags: &[String]) -> bool {
        let has = |tag: &String| tags.iter().any(|its| its.eq_ignore_ascii_case(tag));
        self.tags.iter().flatten().all(has)
    }
}
