//! The nodes on which the file shall be, and the storage as each of them sees it.

use ansible_module::Failure;
use pve_client::{StorageRow, StorageStatus};
use pve_types::NodeName;

use crate::target::Session;

/// A node with its storage.
#[derive(Debug, Clone)]
pub(crate) struct Seat {
    /// The node.
    pub(crate) node: NodeName,
    /// The storage, if the node has it.
    pub(crate) status: Option<StorageStatus>,
}

/// The nodes that are meant; what is wrong with some of them is added to the problems.
///
/// # Errors
/// When nothing at all can be said.
pub(crate) async fn seats(
    session: &Session,
    problems: &mut Vec<String>,
) -> Result<Vec<Seat>, Failure> {
    let client = &session.client;
    let storage = &session.request.storage;
    let rows = client.storages().await?;
    let Some(row) = rows.iter().find(|row| row.storage == *storage) else {
        let ids: Vec<&str> = rows.iter().map(|row| row.storage.as_str()).collect();
        return Err(Failure::new(format!(
            "storage {storage} does not exist, or the caller may not see it (which takes \
             Datastore.Audit on /storage/{storage}); there is {}",
            if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
        )));
    };
    let mut online = Vec::new();
    let mut offline = Vec::new();
    for node in client.nodes().await? {
        let list = if node.status == "offline" { &mut offline } else { &mut online };
        list.push(node.node);
    }
    online.sort();
    let named = &session.request.nodes;
    let mut meant = Vec::new();
    if named.is_empty() {
        meant.extend(online.iter().filter(|node| has(row, node)).cloned());
        for node in offline.iter().filter(|node| has(row, node) && !row.shared) {
            session.run.warn(format!("node {node} is offline and was passed over"));
        }
    }
    for node in named {
        if offline.contains(node) {
            problems.push(format!("node {node} is offline"));
        } else if !online.contains(node) {
            let names: Vec<&str> = online.iter().map(NodeName::as_str).collect();
            problems.push(format!("there is no node {node}: the cluster has {}", names.join(", ")));
        } else if has(row, node) {
            meant.push(node.clone());
        } else {
            problems.push(format!(
                "storage {storage} is not on node {node}: it is on {}",
                row.nodes.as_deref().unwrap_or_default()
            ));
        }
    }
    if row.shared {
        // all of them see the same file
        meant.truncate(1);
    }
    if meant.is_empty() && problems.is_empty() {
        problems.push(format!("no node that is online has storage {storage}"));
    }
    let mut seats = Vec::new();
    for node in meant {
        let rows = client.node(&node).storages().await?;
        let status = rows.into_iter().find(|row| row.storage.as_ref() == Some(storage));
        seats.push(Seat { node, status });
    }
    if seats.iter().any(Seat::is_shared) {
        seats.truncate(1);
    }
    Ok(seats)
}

fn has(row: &StorageRow, node: &NodeName) -> bool {
    let only = row.nodes.as_deref().filter(|nodes| !nodes.is_empty());
    only.is_none_or(|nodes| nodes.split(',').any(|one| one.trim() == node.as_str()))
}

impl Seat {
    /// Whether the nodes see the same files.
    pub(crate) fn is_shared(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.shared == Some(1))
    }

    /// Whether the storage can be looked into.
    pub(crate) fn is_open(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.enabled && status.active)
    }
}
