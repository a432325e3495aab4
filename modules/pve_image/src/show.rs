//! What is shown: the files before and after, and what is returned.

use ansible_module::Diff;
use pve_types::{NodeName, StorageId, VolId};
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::Change;
use crate::found::Found;
use crate::target::Session;

/// The files before and after.
pub(crate) fn diff(found: &Found, plan: &[Change]) -> Vec<Diff> {
    if plan.is_empty() {
        return Vec::new();
    }
    let header = format!("{} on its nodes", found.label());
    let line = |node: &NodeName, volid: &str, size: Option<u64>| {
        let size = size.map(|size| format!(", {size} bytes")).unwrap_or_default();
        format!("{node}: {volid}{size}\n")
    };
    let label = found.label();
    let (mut before, mut after) = (String::new(), String::new());
    for copy in &found.copies {
        let there = copy.there.map(|there| line(&copy.node, &label, there.size));
        before.push_str(there.as_deref().unwrap_or_default());
        for left in &copy.leftovers {
            before.push_str(&line(&copy.node, &left.to_string(), None));
        }
        let change = plan
            .iter()
            .find(|change| change.node() == &copy.node && !matches!(change, Change::Tidy { .. }));
        match change {
            Some(Change::Remove { .. }) => {}
            Some(_) => after.push_str(&line(&copy.node, &label, found.expected)),
            None => after.push_str(there.as_deref().unwrap_or_default()),
        }
    }
    vec![Diff { before_header: header.clone(), after_header: header, before, after }]
}

/// What is returned, as it was read last.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The volume, as other modules take it: `local:import/debian-13-20251117-0123456789ab.qcow2`.
    pub(crate) volid: Option<VolId>,
    /// The storage.
    pub(crate) storage: StorageId,
    /// The file's name on the storage.
    pub(crate) name: String,
    /// The checksum of the source as it is published, if it is known.
    pub(crate) checksum: Option<String>,
    /// The nodes that are meant, in check mode too: each that has the storage, or one of those that
    /// share it.
    pub(crate) nodes: Vec<NodeName>,
    /// The file on each node that has it.
    pub(crate) images: Vec<Image>,
    /// The tasks of PVE that this run started or waited for.
    pub(crate) upids: Vec<String>,
}

/// The file on one node.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Image {
    /// The node.
    pub(crate) node: NodeName,
    /// The volume.
    pub(crate) volid: Option<VolId>,
    /// The size in bytes, as PVE says it.
    pub(crate) size: Option<u64>,
    /// The checksum of the source as it is published, if it is known.
    pub(crate) checksum: Option<String>,
    /// The bytes that this run uploaded; 0 if the node fetched the file, or had it.
    pub(crate) sent: u64,
    /// How many seconds the transfer took; 0 if there was none.
    pub(crate) seconds: f64,
    /// The bytes of the file per second of the transfer.
    pub(crate) rate: u64,
}

/// What is returned.
pub(crate) fn returned(found: &Found, session: &Session) -> Returned {
    let checksum = found.checksum.as_ref().map(ToString::to_string);
    let images = found
        .copies
        .iter()
        .filter_map(|copy| copy.there.map(|there| (copy, there)))
        .map(|(copy, there)| {
            let transfer = session.transfers.get(&copy.node).copied().unwrap_or_default();
            let millis = u64::try_from(transfer.time.as_millis()).unwrap_or(u64::MAX);
            let bytes = if millis == 0 { 0 } else { there.size.unwrap_or(transfer.bytes) };
            Image {
                node: copy.node.clone(),
                volid: found.volid.clone(),
                size: there.size,
                checksum: checksum.clone(),
                sent: transfer.bytes,
                seconds: transfer.time.as_secs_f64(),
                rate: bytes.saturating_mul(1000).checked_div(millis).unwrap_or(0),
            }
        })
        .collect();
    Returned {
        volid: found.volid.clone(),
        storage: session.request.storage.clone(),
        name: found.name.clone(),
        checksum,
        nodes: found.copies.iter().map(|copy| copy.node.clone()).collect(),
        images,
        upids: session.upids.clone(),
    }
}
