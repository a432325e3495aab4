//! Storages: there, in use, for this content, holding what is asked of them.

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{Client, StorageStatus};
use pve_types::property::{Disk, DiskSource};
use pve_types::{NodeName, Size, StorageId, VolId};

use crate::change::{Creation, Edit, From};
use crate::found::Found;
use crate::plan::create::is_drive;

/// The sizes that disks shall have once they are there, by slot.
pub(super) type Sizes<'a> = BTreeMap<&'a str, Size>;

/// Storages that drives are made on, and volumes that they are made from or that are attached;
/// those that the machine had before are its own.
pub(super) async fn storages(
    client: &Client,
    node: &NodeName,
    lines: &BTreeMap<String, String>,
    before: &BTreeMap<String, String>,
    sizes: &Sizes<'_>,
    problems: &mut Vec<String>,
) {
    let mut needs: Vec<(String, StorageId, &str)> = Vec::new();
    let mut volumes: Vec<(String, VolId)> = Vec::new();
    let had = |volid: &VolId| {
        let mut lines = before.iter().filter(|(key, _)| is_drive(key)).map(|(_, line)| line);
        lines.any(|line| Disk::new(line).volume().as_ref() == Some(volid))
    };
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
            Some(DiskSource::Volume(volid)) if volid.content().is_none() && !had(&volid) => {
                needs.push((key.clone(), volid.storage.clone(), "images"));
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
    if let Some(Ok(storage)) = lines.get("vmstatestorage").map(|text| text.parse()) {
        needs.push(("vmstatestorage".into(), storage, "images"));
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
        if present(client, node, &key, &volid, problems).await
            && let Some(size) = sizes.get(key.as_str())
        {
            fits(client, node, &key, &volid, *size, problems).await;
        }
    }
}

/// Where the disks of a copy or of a restored machine go to.
pub(super) async fn copies(
    client: &Client,
    creation: &Creation,
    from: &From,
    problems: &mut Vec<String>,
) {
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
        From::Config { .. } => false,
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

/// A disk cannot be made smaller than the image it is made from.
async fn fits(
    client: &Client,
    node: &NodeName,
    key: &str,
    volid: &VolId,
    wanted: Size,
    problems: &mut Vec<String>,
) {
    // of an image in a file that grows, a list has the size of the file only
    let Ok(info) = client.node(node).storage(&volid.storage).volume(volid).await else { return };
    let Some(image) = info.size.map(Size::from_bytes).filter(|image| *image > wanted) else {
        return;
    };
    problems.push(format!(
        "{key}: {volid} has {image}, and a disk made from it cannot be shrunk to {wanted}: ask \
         for {image} or more"
    ));
}

/// Whether a volume is there, as far as can be told.
async fn present(
    client: &Client,
    node: &NodeName,
    key: &str,
    volid: &VolId,
    problems: &mut Vec<String>,
) -> bool {
    let content = volid.content().unwrap_or("images");
    let Ok(rows) = client.node(node).storage(&volid.storage).content(Some(content)).await else {
        return true;
    };
    if rows.iter().any(|row| row.volid == *volid) {
        return true;
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
    false
}

/// Volumes that nothing uses any more but a snapshot, which PVE does not destroy.
pub(super) async fn kept_by_snapshots(
    client: &Client,
    found: &Found,
    edit: &Edit,
    problems: &mut Vec<String>,
) {
    let Some(guest) = found.guest.as_ref().filter(|guest| guest.config.contains_key("parent"))
    else {
        return;
    };
    let gone: Vec<(&String, VolId)> = edit
        .delete
        .iter()
        .filter(|key| key.starts_with("unused"))
        .filter_map(|key| Some((key, Disk::new(guest.config.get(key)?).volume()?)))
        .collect();
    if gone.is_empty() {
        return;
    }
    let qemu = client.node(&guest.node).qemu(guest.vmid);
    let Ok(snapshots) = qemu.snapshots().await else { return };
    for snapshot in snapshots.iter().filter(|snapshot| !snapshot.is_current()) {
        let Ok(config) = qemu.config_of_snapshot(&snapshot.name).await else { continue };
        let holds = |volid: &VolId| {
            let lines = config.as_map().iter().filter(|(key, _)| is_drive(key));
            lines.map(|(_, line)| Disk::new(line).volume()).any(|its| its.as_ref() == Some(volid))
        };
        for (key, volid) in gone.iter().filter(|(_, volid)| holds(volid)) {
            problems.push(format!(
                "{key}: snapshot {} needs {volid}, so PVE does not destroy it: remove that first",
                snapshot.name
            ));
        }
    }
}

/// Linked copies of a template, with which PVE does not remove it.
pub(super) async fn copied_from(client: &Client, found: &Found, problems: &mut Vec<String>) {
    let Some(guest) = found.guest.as_ref().filter(|guest| guest.is("template")) else { return };
    let bases: Vec<VolId> = guest.drives().filter_map(|(_, disk)| disk.volume()).collect();
    let storages: BTreeSet<&StorageId> = bases.iter().map(|base| &base.storage).collect();
    let mut copies = BTreeSet::new();
    for storage in storages {
        let there = client.node(&guest.node).storage(storage);
        let Ok(rows) = there.content(Some("images")).await else { continue };
        copies.extend(rows.iter().filter_map(|row| {
            let is_copy =
                bases.iter().any(|base| base.is_base_of(&row.volid, row.parent.as_deref()));
            is_copy.then_some(row.vmid?)
        }));
    }
    if !copies.is_empty() {
        let copies: Vec<String> = copies.iter().map(ToString::to_string).collect();
        problems.push(format!(
            "{} is what linked copies are made of, and cannot be removed before them: vm {}",
            guest.label(),
            copies.join(", ")
        ));
    }
}

/// The storage that a disk is moved to.
pub(super) async fn target(
    client: &Client,
    node: &NodeName,
    disk: &str,
    storage: &StorageId,
    problems: &mut Vec<String>,
) {
    let Ok(rows) = client.node(node).storages().await else { return };
    let problem = storage_problem(&rows, node, storage, "images");
    problems.extend(problem.map(|problem| format!("{disk}: {problem}")));
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
