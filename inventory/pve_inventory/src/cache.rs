//! What was read before, kept for as long as a person allows.
//!
//! One file for each cluster and for what was asked of it, readable by its owner only and written
//! whole or not at all. Addresses are found anew from it, so that what decides about them is never
//! old. A file that is not as it should be is as good as none.

use std::collections::BTreeMap;
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use pve_client::GuestConfig;
use pve_types::address::{Policy, Reason, ReasonKind, Report};
use pve_types::{GuestKind, NodeName, Vmid};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::config::Config;
use crate::error::Error;
use crate::fetch::{Answer, Node};
use crate::guest::Guest;

/// Where one cluster's answers are kept.
#[derive(Debug)]
pub(crate) struct Cache {
    path: PathBuf,
    /// What was asked, of whom, by whom.
    key: String,
}

/// What is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Held {
    key: String,
    /// The last complete answer.
    answer: Option<Kept>,
    /// When each silent agent was asked.
    silent: BTreeMap<u32, u64>,
}

#[derive(Debug, Serialize, Deserialize)]
struct Kept {
    at: u64,
    endpoint: usize,
    guests: Vec<KeptGuest>,
    nodes: Vec<Node>,
}

#[derive(Debug, Serialize, Deserialize)]
struct KeptGuest {
    kind: GuestKind,
    vmid: Vmid,
    node: NodeName,
    name: Option<String>,
    status: String,
    pool: Option<String>,
    tags: Vec<String>,
    template: bool,
    ha: Vec<String>,
    config: Result<BTreeMap<String, String>, Reason>,
    report: Result<Value, Reason>,
}

/// The time, in seconds.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map(|since| since.as_secs()).unwrap_or_default()
}

impl Cache {
    /// The cache of a cluster, if there is to be one.
    pub(crate) fn of(config: &Config, index: usize, whole: bool) -> Option<Self> {
        let folder = &config.cache_dir.as_ref()?.value;
        if config.cache.value == 0 {
            return None;
        }
        let cluster = &config.clusters[index];
        let text = |setting: &Option<crate::config::Setting<String>>| {
            setting.as_ref().map(|setting| setting.value.clone())
        };
        let key = json!({
            "version": env!("CARGO_PKG_VERSION"),
            "endpoints": cluster.hosts(),
            "port": cluster.port.as_ref().map(|port| port.value),
            "user": text(&cluster.user),
            "token": text(&cluster.token_id),
            "templates": config.templates.value,
            "nodes": config.nodes.value,
            "filters": config.filters.value,
            "whole": whole,
        })
        .to_string();
        Some(Self { path: folder.join(format!("{:016x}.json", hash(&key))), key })
    }

    /// What is kept for this question; nothing if others can write or read it.
    pub(crate) fn read(&self) -> Held {
        let read = || {
            let found = self.path.symlink_metadata().ok()?;
            let me = nix::unistd::geteuid().as_raw();
            if !found.is_file() || !is_own(found.uid(), found.mode(), me) {
                return None;
            }
            let held: Held = serde_json::from_slice(&std::fs::read(&self.path).ok()?).ok()?;
            (held.key == self.key).then_some(held)
        };
        read().unwrap_or_default()
    }

    /// Keeps an answer, if nothing is missing in it, and which agents were silent.
    pub(crate) fn write(
        &self,
        mut held: Held,
        answer: &Answer,
        left_alone: &BTreeMap<u32, u64>,
        now: u64,
    ) -> Result<(), Error> {
        held.key.clone_from(&self.key);
        let silent = answer.guests.iter().filter(|guest| {
            guest.report.as_ref().err().is_some_and(|why| why.kind == ReasonKind::AgentSilent)
        });
        held.silent = silent
            .map(|guest| guest.vmid.get())
            .map(|vmid| (vmid, now.saturating_sub(left_alone.get(&vmid).copied().unwrap_or(0))))
            .collect();
        if answer.warnings.is_empty() {
            held.answer = Some(Kept {
                at: now,
                endpoint: answer.endpoint,
                guests: answer.guests.iter().map(KeptGuest::of).collect(),
                nodes: answer.nodes.clone(),
            });
        }
        let text = serde_json::to_vec(&held).unwrap_or_default();
        self.replace(&text).map_err(|source| Error::Cache { path: self.path.clone(), source })
    }

    fn replace(&self, text: &[u8]) -> std::io::Result<()> {
        let folder = self.path.parent().unwrap_or(Path::new("."));
        std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let beside = self.path.with_extension(format!("{}.new", std::process::id()));
        let write = || {
            let mut file = std::fs::OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&beside)?;
            file.write_all(text)?;
            file.sync_all()?;
            std::fs::rename(&beside, &self.path)
        };
        // one left by a run of the same number that was killed
        let _ = std::fs::remove_file(&beside);
        let written = write();
        if written.is_err() {
            let _ = std::fs::remove_file(&beside);
        }
        written
    }
}

impl Held {
    /// How many seconds old it is.
    pub(crate) fn age(&self, now: u64) -> Option<u64> {
        now.checked_sub(self.answer.as_ref()?.at)
    }

    /// The agents that are left alone, with the seconds since each was asked.
    pub(crate) fn silent(&self, now: u64, config: &Config) -> BTreeMap<u32, u64> {
        let since = |asked: u64| now.checked_sub(asked);
        let memory = u64::from(config.silent_memory.value);
        let remembered =
            self.silent.iter().filter_map(|(vmid, asked)| Some((*vmid, since(*asked)?)));
        remembered.filter(|(_, ago)| *ago < memory).collect()
    }

    /// The answer that is kept.
    pub(crate) fn answer(self, cluster: usize, policy: &Policy) -> Answer {
        let Some(kept) = self.answer else { return Answer::default() };
        Answer {
            endpoint: kept.endpoint,
            guests: kept.guests.into_iter().map(|guest| guest.back(cluster, policy)).collect(),
            nodes: kept.nodes.into_iter().map(|node| Node { cluster, ..node }).collect(),
            warnings: Vec::new(),
        }
    }
}

impl KeptGuest {
    fn of(guest: &Guest) -> Self {
        Self {
            kind: guest.kind,
            vmid: guest.vmid,
            node: guest.node.clone(),
            name: guest.name.clone(),
            status: guest.status.clone(),
            pool: guest.pool.clone(),
            tags: guest.tags.clone(),
            template: guest.template,
            ha: guest.ha.clone(),
            config: guest.config.as_ref().map(|c| c.as_map().clone()).map_err(Clone::clone),
            report: guest.report.as_ref().map(report).map_err(Clone::clone),
        }
    }

    fn back(self, cluster: usize, policy: &Policy) -> Guest {
        let odd = || Reason::new(ReasonKind::Failed, "the cache has no answer of it");
        let mut guest = Guest {
            cluster,
            kind: self.kind,
            vmid: self.vmid,
            node: self.node,
            name: self.name,
            status: self.status,
            pool: self.pool,
            tags: self.tags,
            template: self.template,
            ha: self.ha,
            config: self.config.map(GuestConfig::from_iter),
            report: self
                .report
                .and_then(|data| serde_json::from_value::<Report>(data).map_err(|_| odd())),
            address: Err(odd()),
        };
        guest.address = guest.find_address(policy).0;
        guest
    }
}

/// A report in the agent's own shape.
fn report(report: &Report) -> Value {
    let interfaces = report.interfaces.iter().map(|interface| {
        let addresses: Vec<Value> = interface
            .addresses
            .iter()
            .map(|(ip, prefix)| json!({"ip-address": ip, "prefix": prefix}))
            .collect();
        json!({"name": interface.name, "hardware-address": interface.mac.map(|mac| mac.to_string()),
               "ip-addresses": addresses})
    });
    interfaces.collect()
}

/// Whether a file is the caller's and nobody else's. To root every file is readable, so that the mode
/// alone would let anyone say where guests are.
fn is_own(owner: u32, mode: u32, me: u32) -> bool {
    owner == me && mode & 0o077 == 0
}

/// FNV-1a; only a file's name, the question itself stands in the file.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_another_or_for_others_is_none() {
        for (owner, mode, me, own) in [
            (1000, 0o100_600, 1000, true),
            (0, 0o100_400, 0, true),
            (1000, 0o100_600, 0, false),
            (0, 0o100_600, 1000, false),
            (1000, 0o100_640, 1000, false),
            (1000, 0o100_602, 1000, false),
        ] {
            assert_eq!(is_own(owner, mode, me), own, "{owner} {mode:o} {me}");
        }
    }
}
