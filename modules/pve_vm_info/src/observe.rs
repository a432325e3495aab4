//! One list, then for each machine no more than is asked for, a few at a time.

use std::collections::{BTreeMap, BTreeSet};

use ansible_module::{Failure, Run};
use futures_util::stream::{self, StreamExt};
use pve_client::{Client, Error, Qemu, Resource, View};
use pve_types::address::{Known, Reason, ReasonKind, address};
use pve_types::{GuestKind, NodeName, Vmid, parsed, shown};

use crate::params::Params;
use crate::returned::{Returned, SnapshotRow, Vm};

/// How many machines are read at a time: enough to hide a silent agent's 3 s, and few for a node's
/// three workers.
const AT_A_TIME: usize = 8;

/// Reads the machines that are asked for.
///
/// # Errors
/// When the list itself cannot be had.
pub(crate) async fn observe(
    params: &Params,
    client: &Client,
    run: &Run,
) -> Result<Returned, Failure> {
    let rows = client.resources(Some("vm")).await.map_err(|error| {
        Failure::from(error).context("failed to list the guests of the cluster")
    })?;
    if rows.is_empty() && client.permissions(None).await.is_ok_and(|granted| granted.is_empty()) {
        // PVE lists nothing to one who may see nothing, without a word
        run.warn(format!(
            "{} has no privilege anywhere, so PVE lists no machine to it: grant VM.Audit on /vms; \
             a token with privilege separation needs it for itself as well",
            client.caller()
        ));
    }
    let taken: BTreeSet<Vmid> = rows.iter().filter_map(|row| row.vmid).collect();
    // by number: one that moves between nodes may be listed twice
    let rows: BTreeMap<Vmid, (NodeName, Resource)> = rows
        .into_iter()
        .filter(|row| row.kind == "qemu" && listed(params, row))
        .filter_map(|row| Some((row.vmid?, (row.node.clone()?, row))))
        .collect();
    let mut vms: Vec<Vm> = stream::iter(rows)
        .map(|(vmid, (node, row))| read(params, client, vmid, node, row))
        .buffer_unordered(AT_A_TIME)
        .filter_map(|vm| async { vm })
        .collect()
        .await;
    vms.sort_by_key(|vm| vm.vmid);
    Ok(Returned { vms, taken: taken.into_iter().collect() })
}

/// Whether a row may be meant, as far as the list tells: it lags by 10 s, so that names, tags and
/// states of fresh machines are not in it.
fn listed(params: &Params, row: &Resource) -> bool {
    let fits = |wanted: Option<&str>, its: Option<&str>| wanted.is_none_or(|it| its == Some(it));
    fits(params.pool.as_deref(), row.pool.as_deref())
        && params.vmid.is_none_or(|vmid| row.vmid == Some(vmid))
        && params.node.as_ref().is_none_or(|node| row.node.as_ref() == Some(node))
        && row.name.as_ref().is_none_or(|name| named(params, name))
}

fn named(params: &Params, name: &str) -> bool {
    params.name.as_ref().is_none_or(|pattern| pattern.matches(name))
}

/// One machine; nothing if it is not meant after all, or gone since the list was made.
async fn read(
    params: &Params,
    client: &Client,
    vmid: Vmid,
    node: NodeName,
    row: Resource,
) -> Option<Vm> {
    let fresh = row.name.is_none();
    let mut vm = Vm {
        vmid,
        node: node.clone(),
        name: row.name,
        status: if row.status.is_empty() { "unknown".to_owned() } else { row.status },
        template: row.template,
        tags: words(row.tags.as_deref()),
        pool: row.pool.filter(|pool| !pool.is_empty()),
        lock: row.lock,
        uptime: None,
        config: None,
        config_parsed: None,
        pending: None,
        snapshots: None,
        address: None,
        address_source: None,
        address_reason: None,
        reason: None,
    };
    match fill(params, client.node(&node).qemu(vmid), &mut vm, fresh).await {
        Ok(()) => {}
        Err(error) if error.is_gone() => return None,
        Err(error) => {
            if params.address {
                vm.address_reason = Some(error.reason());
            }
            vm.reason = Some(error.to_string());
        }
    }
    let meant = params.status.as_ref().is_none_or(|status| *status == vm.status)
        && vm.name.as_ref().map_or(params.name.is_none(), |name| named(params, name))
        && params.has_tags(&vm.tags);
    meant.then_some(vm)
}

async fn fill(params: &Params, qemu: Qemu<'_>, vm: &mut Vm, fresh: bool) -> Result<(), Error> {
    let status = qemu.status().await?;
    let running = status.is_running();
    status.word().clone_into(&mut vm.status);
    (vm.lock, vm.template) = (status.lock, status.template);
    vm.uptime = status.uptime.filter(|uptime| *uptime > 0);
    if fresh || params.address {
        let config = qemu.config(View::Current).await?;
        vm.name = config.name().map(str::to_owned);
        vm.tags = words(config.get("tags"));
        if params.address {
            let report = if vm.template {
                Err(Reason::new(ReasonKind::Template, "it is a template"))
            } else {
                qemu.report(running, config.as_map()).await
            };
            let known =
                Known { kind: GuestKind::Qemu, config: config.as_map(), report: report.as_ref() };
            match address(known, &params.policy()) {
                Ok(address) => {
                    vm.address = Some(address.ip.to_string());
                    vm.address_source = Some(address.source);
                    vm.address_reason = address.unobserved;
                }
                Err(reason) => vm.address_reason = Some(reason),
            }
        }
    }
    if params.config {
        configuration(qemu, vm).await?;
    }
    if params.snapshots {
        vm.snapshots = Some(snapshots(qemu).await?);
    }
    Ok(())
}

async fn configuration(qemu: Qemu<'_>, vm: &mut Vm) -> Result<(), Error> {
    let mut config = BTreeMap::new();
    let mut pending = BTreeMap::new();
    for item in qemu.pending().await? {
        if item.delete.is_some_and(|delete| delete > 0) {
            pending.insert(item.key, None);
            continue;
        }
        if let Some(value) = &item.pending {
            pending.insert(item.key.clone(), Some(shown(&item.key, value)));
        }
        if let Some(value) = item.pending.or(item.value) {
            config.insert(item.key, value);
        }
    }
    let structures = parsed(&config);
    vm.config_parsed =
        serde_json::to_value(structures).ok().and_then(|value| serde_json::from_value(value).ok());
    vm.config = Some(config.iter().map(|(key, value)| (key.clone(), shown(key, value))).collect());
    vm.pending = Some(pending);
    Ok(())
}

async fn snapshots(qemu: Qemu<'_>) -> Result<Vec<SnapshotRow>, Error> {
    let mut rows: Vec<SnapshotRow> = qemu
        .snapshots()
        .await?
        .into_iter()
        .filter(|snapshot| !snapshot.is_current())
        .map(|snapshot| SnapshotRow {
            name: snapshot.name,
            description: snapshot.description,
            parent: snapshot.parent,
            snaptime: snapshot.snaptime,
            vmstate: snapshot.vmstate,
        })
        .collect();
    rows.sort_by(|a, b| (a.snaptime, &a.name).cmp(&(b.snaptime, &b.name)));
    Ok(rows)
}

/// Tags as a list. One that is no tag at all stays as it is: it is told, not judged.
fn words(tags: Option<&str>) -> Vec<String> {
    let separators = [';', ',', ' '];
    let words = tags.unwrap_or_default().split(separators).filter(|word| !word.is_empty());
    words.map(str::to_owned).collect()
}
