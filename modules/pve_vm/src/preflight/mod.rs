//! What can be known to stand against a plan before its first write, all of it at once.
//!
//! Only what the plan needs is asked for, so that it costs nothing when there is nothing to change.
//! What the caller may not read is passed over: the server says it when the time comes.

mod storages;
mod versions;

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_client::{Client, Form, Kind};
use pve_types::property::NetDevice;
use pve_types::{NodeName, PoolId, Vmid, VolId, lenient, slot};
use serde::Deserialize;
use storages::{Sizes, copies, storages};

use crate::change::{Change, Creation, From, Migration};
use crate::found::Found;
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
    let sizes: Sizes = plan
        .iter()
        .filter_map(|change| match change {
            Change::Grow { disk, to, .. } => Some((disk.as_str(), *to)),
            _ => None,
        })
        .collect();
    for change in plan {
        match change {
            Change::Create(made) => creation(client, made, &sizes, &mut problems).await,
            Change::Set(edit) => {
                let Some((node, config)) = before(found, plan) else { continue };
                let added: BTreeMap<String, String> = edit
                    .set
                    .iter()
                    .filter(|(key, line)| config.get(*key) != Some(line))
                    .map(|(key, line)| (key.clone(), line.clone()))
                    .collect();
                storages(client, node, &added, config, &sizes, &mut problems).await;
                storages::kept_by_snapshots(client, found, edit, &mut problems).await;
                bridges(client, node, &added, &mut problems).await;
            }
            Change::Migrate(migration) => migrate(client, migration, found, &mut problems).await,
            Change::Move { disk, to, .. } => {
                let Some((node, _)) = before(found, plan) else { continue };
                storages::target(client, node, disk, to, &mut problems).await;
            }
            Change::Destroy { .. } => {
                replicated(client, found, session.purge, &mut problems).await;
                storages::copied_from(client, found, &mut problems).await;
            }
            _ => {}
        }
    }
    problems.dedup();
    problems.extend(versions::problems(client, plan).await);
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
    let node = plan.iter().find_map(|change| match change {
        Change::Migrate(migration) => Some(&migration.to),
        _ => None,
    });
    if let Some(guest) = &found.guest {
        return Some((node.unwrap_or(&guest.node), &guest.config));
    }
    plan.iter().find_map(|change| match change {
        Change::Create(creation) => Some((&creation.node, &creation.config)),
        _ => None,
    })
}

async fn creation(
    client: &Client,
    creation: &Creation,
    sizes: &Sizes<'_>,
    problems: &mut Vec<String>,
) {
    if !node(client, &creation.node, problems).await {
        return;
    }
    free(client, creation, problems).await;
    if let Some(pool) = &creation.pool {
        problems.extend(no_pool(client, pool).await);
    }
    match &creation.from {
        From::Config { .. } => {
            let none = BTreeMap::new();
            storages(client, &creation.node, &creation.config, &none, sizes, problems).await;
        }
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

#[derive(Deserialize)]
struct Precondition {
    #[serde(default)]
    local_disks: Vec<LocalDisk>,
    #[serde(default)]
    local_resources: Vec<String>,
    #[serde(default)]
    not_allowed_nodes: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct LocalDisk {
    volid: String,
    #[serde(default, deserialize_with = "lenient::flag")]
    cdrom: bool,
}

/// What keeps a machine on its node.
async fn migrate(
    client: &Client,
    migration: &Migration,
    found: &Found,
    problems: &mut Vec<String>,
) {
    let Migration { label, from, to, online, with_local_disks, .. } = migration;
    let Some(guest) = &found.guest else { return };
    if !node(client, to, problems).await {
        return;
    }
    for storage in migration.storages() {
        match storage.parse() {
            Ok(storage) => storages::target(client, to, "targetstorage", &storage, problems).await,
            Err(error) => problems.push(format!("targetstorage: {error}")),
        }
    }
    let path = format!("/nodes/{from}/qemu/{}/migrate", guest.vmid);
    let query = Form::new().text("target", to.as_str());
    let Ok(told) = client.get::<Precondition>(&path, &query).await else { return };
    let cloudinit = |volid: &str| volid.parse::<VolId>().is_ok_and(|volid| volid.is_cloudinit());
    let local = |cdrom: bool| {
        let disks = told.local_disks.iter().filter(|disk| disk.cdrom == cdrom);
        let names: Vec<&str> =
            disks.map(|disk| disk.volid.as_str()).filter(|volid| !cloudinit(volid)).collect();
        names.join(", ")
    };
    let (disks, media) = (local(false), local(true));
    if *online && !with_local_disks && !disks.is_empty() {
        problems.push(format!(
            "{label} has volumes that only {from} has, and they do not go along while it runs \
             unless with_local_disks is true: {disks}"
        ));
    }
    if !media.is_empty() {
        problems.push(format!("{label} has a medium in a drive that only {from} has: {media}"));
    }
    if !told.local_resources.is_empty() {
        problems
            .push(format!("{label} uses devices of {from}: {}", told.local_resources.join(", ")));
    }
    if let Some(why) = told.not_allowed_nodes.get(to.as_str()) {
        problems.push(format!("{label} may not be moved to {to}: PVE says {why}"));
    }
}

#[derive(Deserialize)]
struct Replication {
    #[serde(default)]
    id: String,
    #[serde(default, deserialize_with = "lenient::optional_number")]
    guest: Option<u32>,
}

/// PVE does not remove a machine that is replicated, unless it may take it out of everything.
async fn replicated(client: &Client, found: &Found, purge: bool, problems: &mut Vec<String>) {
    let Some(guest) = found.guest.as_ref().filter(|_| !purge) else { return };
    let rows = client.get::<Vec<Replication>>("/cluster/replication", &Form::new()).await;
    let jobs: Vec<String> = rows
        .into_iter()
        .flatten()
        .filter(|job| job.guest == Some(guest.vmid.get()))
        .map(|job| job.id)
        .collect();
    if !jobs.is_empty() {
        problems.push(format!(
            "{} is replicated ({}): remove that first, or set purge",
            guest.label(),
            jobs.join(", ")
        ));
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

/// A pool that is missing. Only who may read it is told; PVE refuses all others by the privileges on
/// it.
async fn no_pool(client: &Client, pool: &PoolId) -> Option<String> {
    let query = Form::new().text("poolid", pool.as_str());
    let error = client.get::<serde_json::Value>("/pools", &query).await.err()?;
    error.is_gone().then(|| {
        format!("pool: there is no pool {pool}: make it first, or leave pool out ({error})")
    })
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
