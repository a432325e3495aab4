//! What can be known to stand against a plan before its first write, all of it at once.
//!
//! Only what the plan needs is asked for, so that it costs nothing when there is nothing to change.
//! What the caller may not read is passed over: the server says it when the time comes.

use std::collections::{BTreeMap, BTreeSet};

use ansible_module::Failure;
use pve_client::{Client, Form, Kind, StorageStatus};
use pve_types::property::{Disk, DiskSource, NetDevice};
use pve_types::{NodeName, StorageId, Vmid, VolId, slot};
use serde::Deserialize;

use crate::change::{Change, Creation, From};
use crate::found::Found;
use crate::plan::create::is_drive;
use crate::privileges;
use crate::target::Session;

/// Looks for what stands against a plan.
///
/// # Errors
/// Names everything that was found.
pub(crate) async fn check(
    session: &Session,
    found: &Found,
    plan: &[Change],
) -> Result<(), Failure> {
    let mut problems = Vec::new();
    let client = &session.client;
    for change in plan {
        match change {
            Change::Create(made) => creation(client, made, &mut problems).await,
            Change::Set(edit) => {
                let Some((node, config)) = before(found, plan) else { continue };
                let added: BTreeMap<String, String> = edit
                    .set
                    .iter()
                    .filter(|(key, line)| config.get(*key) != Some(line))
                    .map(|(key, line)| (key.clone(), line.clone()))
                    .collect();
                storages(client, node, &added, &mut problems).await;
                bridges(client, node, &added, &mut problems).await;
            }
            _ => {}
        }
    }
    problems.dedup();
    privileges::check(client, found, plan, &mut problems).await;
    match problems.as_slice() {
        [] => Ok(()),
        [one] => Err(Failure::new(format!("before anything was changed: {one}"))),
        many => Err(Failure::new(format!(
            "before anything was changed, {} problems were found: {}",
            many.len(),
            many.join("; ")
        ))
        .with("problems", many)),
    }
}

/// Where the machine is and what it is like before its settings are changed; one that is made from
/// another is like that one.
fn before<'a>(
    found: &'a Found,
    plan: &'a [Change],
) -> Option<(&'a NodeName, &'a BTreeMap<String, String>)> {
    if let Some(guest) = &found.guest {
        return Some((&guest.node, &guest.config));
    }
    plan.iter().find_map(|change| match change {
        Change::Create(creation) => Some((&creation.node, &creation.config)),
        _ => None,
    })
}

async fn creation(client: &Client, creation: &Creation, problems: &mut Vec<String>) {
    if !node(client, &creation.node, problems).await {
        return;
    }
    free(client, creation, problems).await;
    match &creation.from {
        From::Config => storages(client, &creation.node, &creation.config, problems).await,
        from => copies(client, creation, from, problems).await,
    }
    bridges(client, &creation.node, &creation.config, problems).await;
}

/// Whether the node is there; false as well when nothing more can be asked of it.
async fn node(client: &Client, name: &NodeName, problems: &mut Vec<String>) -> bool {
    let Ok(rows) = client.nodes().await else { return true };
    match rows.iter().find(|row| row.node == *name) {
        None => {
            let names: Vec<&str> = rows.iter().map(|row| row.node.as_str()).collect();
            problems.push(format!(
                "there is no node {name}: the cluster has {}",
                if names.is_empty() { "none that may be seen".into() } else { names.join(", ") }
            ));
            false
        }
        Some(row) if row.status == "offline" => {
            problems.push(format!("node {name} is offline"));
            false
        }
        Some(_) => true,
    }
}

/// Whether the number is free. The list of guests may not show one that the caller may not see.
async fn free(client: &Client, creation: &Creation, problems: &mut Vec<String>) {
    let Some(vmid) = creation.vmid else { return };
    if let Err(error) = client.next_id(Some(vmid)).await
        && matches!(error.kind(), Some(Kind::Exists))
    {
        problems
            .push(format!("vmid {vmid} is taken by a guest that the caller may not see ({error})"));
    }
}

async fn storages(
    client: &Client,
    node: &NodeName,
    lines: &BTreeMap<String, String>,
    problems: &mut Vec<String>,
) {
    let mut needs: Vec<(String, StorageId, &str)> = Vec::new();
    let mut volumes: Vec<(String, VolId)> = Vec::new();
    for (key, line) in lines.iter().filter(|(key, _)| is_drive(key)) {
        let disk = Disk::new(line);
        match disk.source() {
            Some(DiskSource::Allocate { storage, .. } | DiskSource::NewCloudInit(storage)) => {
                needs.push((key.clone(), storage, "images"));
            }
            Some(DiskSource::Volume(volid)) if volid.content() == Some("iso") => {
                needs.push((key.clone(), volid.storage.clone(), "iso"));
                volumes.push((key.clone(), volid));
            }
            _ => {}
        }
        let import = disk.get("import-from").and_then(|text| text.parse::<VolId>().ok());
        if let Some(volid) = import {
            let content = volid.content().unwrap_or("images");
            let content = if content == "import" { "import" } else { "images" };
            needs.push((key.clone(), volid.storage.clone(), content));
            volumes.push((key.clone(), volid));
        }
    }
    if needs.is_empty() {
        return;
    }
    let Ok(rows) = client.node(node).storages().await else { return };
    let mut usable = BTreeSet::new();
    let mut told = BTreeSet::new();
    for (key, storage, content) in needs {
        match storage_problem(&rows, node, &storage, content) {
            None => {
                usable.insert(storage);
            }
            Some(problem) if told.insert(problem.clone()) => {
                problems.push(format!("{key}: {problem}"));
            }
            Some(_) => {}
        }
    }
    for (key, volid) in volumes.into_iter().filter(|(_, volid)| usable.contains(&volid.storage)) {
        present(client, node, &key, &volid, problems).await;
    }
}

/// Where the disks of a copy or of a restored machine go to.
async fn copies(client: &Client, creation: &Creation, from: &From, problems: &mut Vec<String>) {
    let drives: Vec<Disk> = creation
        .config
        .iter()
        .filter(|(key, _)| is_drive(key))
        .map(|(_, line)| Disk::new(line))
        .filter(|disk| !disk.is_cdrom() || disk.is_cloudinit())
        .collect();
    let mut needed: BTreeSet<StorageId> = drives.iter().filter_map(Disk::storage).collect();
    let elsewhere = match from {
        From::Clone { storage, node, .. } => {
            needed.extend(storage.clone());
            *node != creation.node
        }
        From::Archive { storage, archive, .. } => {
            needed.extend(storage.clone());
            present(client, &creation.node, "archive", archive, problems).await;
            false
        }
        From::Config => false,
    };
    if needed.is_empty() {
        return;
    }
    let Ok(rows) = client.node(&creation.node).storages().await else { return };
    for storage in needed {
        if let Some(problem) = storage_problem(&rows, &creation.node, &storage, "images") {
            problems.push(problem);
            continue;
        }
        let row = rows.iter().find(|row| row.storage.as_ref() == Some(&storage));
        if elsewhere && row.is_some_and(|row| row.shared == Some(0)) {
            problems.push(format!(
                "a copy is made on another node only if all disks are on shared storages, and \
                 {storage} is not shared: copy it where it is, and move it then"
            ));
        }
    }
}

fn storage_problem(
    rows: &[StorageStatus],
    node: &NodeName,
    storage: &StorageId,
    content: &str,
) -> Option<String> {
    let Some(row) = rows.iter().find(|row| row.storage.as_ref() == Some(storage)) else {
        let ids: Vec<&str> =
            rows.iter().filter_map(|row| row.storage.as_ref()).map(StorageId::as_str).collect();
        return Some(format!(
            "{node} has no storage {storage} that the caller may use; it has {}",
            if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
        ));
    };
    if !row.enabled {
        return Some(format!("storage {storage} is disabled on {node}"));
    }
    if !row.active {
        return Some(format!("storage {storage} is not active on {node}"));
    }
    (!row.holds(content)).then(|| {
        format!(
            "storage {storage} does not hold content {content}: its list is {}; add {content} to it",
            row.content
        )
    })
}

async fn present(
    client: &Client,
    node: &NodeName,
    key: &str,
    volid: &VolId,
    problems: &mut Vec<String>,
) {
    let content = volid.content().unwrap_or("images");
    let Ok(rows) = client.node(node).storage(&volid.storage).content(Some(content)).await else {
        return;
    };
    if rows.iter().any(|row| row.volid == *volid) {
        return;
    }
    let mut there: Vec<String> = rows.iter().map(|row| row.volid.to_string()).collect();
    there.sort();
    there.truncate(10);
    problems.push(format!(
        "{key}: {volid} is not on {node}; there {}",
        if there.is_empty() {
            format!("is nothing of content {content}")
        } else {
            format!("is {}", there.join(", "))
        }
    ));
}

#[derive(Deserialize)]
struct Interface {
    #[serde(default)]
    iface: String,
}

/// A bridge that is missing is accepted by PVE, and then the machine does not start.
async fn bridges(
    client: &Client,
    node: &NodeName,
    lines: &BTreeMap<String, String>,
    problems: &mut Vec<String>,
) {
    let wanted: BTreeMap<String, &String> = lines
        .iter()
        .filter(|(key, _)| slot(key).is_some_and(|(family, _)| family == "net"))
        .filter_map(|(key, line)| Some((NetDevice::new(line).bridge()?.to_owned(), key)))
        .collect();
    if wanted.is_empty() {
        return;
    }
    let path = format!("/nodes/{node}/network");
    let query = Form::new().text("type", "any_bridge");
    let Ok(rows) = client.get::<Vec<Interface>>(&path, &query).await else { return };
    for (bridge, key) in wanted {
        if rows.iter().any(|row| row.iface == bridge) {
            continue;
        }
        let names: Vec<&str> = rows.iter().map(|row| row.iface.as_str()).collect();
        problems.push(format!(
            "{key}: there is no bridge {bridge} on {node} that the caller may see; it has {}",
            if names.is_empty() { "none".to_owned() } else { names.join(", ") }
        ));
    }
}

/// The path at which privileges for a machine count.
pub(crate) fn guest_path(vmid: Option<Vmid>) -> String {
    vmid.map_or_else(|| "/vms".to_owned(), |vmid| format!("/vms/{vmid}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn b37_a_storage_must_hold_what_is_asked_of_it() {
        let rows: Vec<StorageStatus> = serde_json::from_value(json!([
            {"storage": "local", "type": "dir", "content": "iso,vztmpl,backup", "active": 1, "enabled": 1},
            {"storage": "off", "content": "images", "active": 0, "enabled": 0},
            {"storage": "down", "content": "images", "active": 0, "enabled": 1},
            {"storage": "fast", "content": "images,import", "active": "1", "enabled": "1"},
        ]))
        .unwrap();
        let node = "pve1".parse().unwrap();
        for (storage, content, text) in [
            (
                "local",
                "import",
                "storage local does not hold content import: its list is iso,vztmpl,backup; add \
                 import to it",
            ),
            ("off", "images", "storage off is disabled on pve1"),
            ("down", "images", "storage down is not active on pve1"),
            ("nostore", "images", "pve1 has no storage nostore that the caller may use; it has"),
            ("fast", "import", ""),
        ] {
            let problem = storage_problem(&rows, &node, &storage.parse().unwrap(), content);
            let problem = problem.unwrap_or_default();
            assert!(problem.contains(text) && problem.is_empty() == text.is_empty(), "{problem}");
        }
    }
}
