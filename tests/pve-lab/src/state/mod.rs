//! What the cluster is at this moment. Everything here is plain data behind one lock; what takes
//! time (volumes, guests, tasks) happens outside it.

pub(crate) mod access;
pub(crate) mod config;
mod files;
pub(crate) mod guest;
pub(crate) mod storage;
pub(crate) mod tasks;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

use access::Access;
pub(crate) use files::write_atomically;
pub(crate) use guest::{Guest, Kind};
use storage::Storage;
use tasks::Tasks;

/// A node.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Node {
    pub(crate) name: String,
    pub(crate) address: String,
    #[serde(default)]
    pub(crate) offline: bool,
    pub(crate) bridges: Vec<String>,
}

/// A pool.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Pool {
    pub(crate) comment: Option<String>,
    pub(crate) guests: Vec<u32>,
    pub(crate) storages: Vec<String>,
}

/// What is kept in `cluster.json`; guests have files of their own.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Cluster {
    pub(crate) nodes: IndexMap<String, Node>,
    pub(crate) storages: IndexMap<String, Storage>,
    pub(crate) access: Access,
    pub(crate) pools: BTreeMap<String, Pool>,
    /// HA resources by `vm:100`.
    pub(crate) ha: BTreeMap<String, BTreeMap<String, String>>,
    /// Firewall rules of guests.
    #[serde(default)]
    pub(crate) rules: BTreeMap<u32, Vec<BTreeMap<String, String>>>,
    /// The key that tickets are signed with.
    pub(crate) ticket_key: String,
}

/// The whole state.
#[derive(Debug, Default)]
pub(crate) struct State {
    pub(crate) dir: PathBuf,
    pub(crate) cluster: Cluster,
    pub(crate) guests: BTreeMap<u32, Guest>,
    pub(crate) tasks: Tasks,
    /// Fleets live in memory only.
    pub(crate) volatile: bool,
}

/// Seconds since the epoch.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs())
}

impl State {
    /// The pool a guest is in.
    pub(crate) fn pool_of(&self, vmid: u32) -> Option<&str> {
        self.cluster
            .pools
            .iter()
            .find(|(_, pool)| pool.guests.contains(&vmid))
            .map(|(name, _)| name.as_str())
    }

    /// A VM on a node, or PVE's word that there is none.
    pub(crate) fn vm(&self, node: &str, vmid: u32) -> Result<&Guest, String> {
        self.guests
            .get(&vmid)
            .filter(|guest| guest.kind == Kind::Qemu && guest.node == node)
            .ok_or_else(|| missing(node, Kind::Qemu, vmid))
    }

    /// The same, to be changed.
    pub(crate) fn vm_mut(&mut self, node: &str, vmid: u32) -> Result<&mut Guest, String> {
        self.guests
            .get_mut(&vmid)
            .filter(|guest| guest.kind == Kind::Qemu && guest.node == node)
            .ok_or_else(|| missing(node, Kind::Qemu, vmid))
    }

    /// A storage, or PVE's word that there is none.
    pub(crate) fn storage(&self, id: &str) -> Result<&Storage, String> {
        self.cluster.storages.get(id).ok_or_else(|| format!("storage '{id}' does not exist"))
    }

    /// The lowest free guest number.
    pub(crate) fn next_id(&self) -> u32 {
        (100..).find(|id| !self.guests.contains_key(id)).unwrap_or(100)
    }

    /// All tags in use.
    pub(crate) fn tags(&self) -> Vec<String> {
        let mut tags: Vec<String> = self
            .guests
            .values()
            .filter_map(|guest| guest.config.main.get("tags"))
            .flat_map(|tags| tags.split(';').map(|tag| tag.trim().to_owned()))
            .filter(|tag| !tag.is_empty())
            .collect();
        tags.sort();
        tags.dedup();
        tags
    }
}

/// What PVE says of a configuration file that is not there.
pub(crate) fn missing(node: &str, kind: Kind, vmid: u32) -> String {
    let folder = kind.folder();
    format!("Configuration file 'nodes/{node}/{folder}/{vmid}.conf' does not exist")
}
