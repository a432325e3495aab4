//! What is asked of a VM now and then: features, migration, statistics.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::super::call::Call;
use super::super::super::error::{ApiError, ApiResult};
use super::{snapshot, volumes};
use crate::shared::Shared;
use crate::state::Guest;
use crate::state::guest::{Drive, drives, is_unused};
use crate::state::now;

/// Whether a feature is available.
pub(crate) fn feature(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let has = match call.params.text("feature") {
        "snapshot" => snapshot::possible(&guest.config.main),
        _ => true,
    };
    Ok(json!({"hasFeature": u8::from(has), "nodes": [call.node()]}))
}

/// What stands in the way of a migration.
pub(crate) fn migrate_check(call: Call) -> ApiResult {
    let guest = call.state().vm(call.node(), call.vmid()).map_err(ApiError::internal)?.clone();
    let main = &guest.config.main;
    let mut disks = Vec::new();
    for (slot, drive) in drives(main) {
        let Ok((volume, storage)) = volumes::locate(&call.shared, &drive.file) else { continue };
        if storage.shared || volume.vmid.is_none() {
            continue;
        }
        let size = call.shared.driver.volume_info(&volume.file(&storage));
        disks.push(json!({"volid": drive.file, "drivename": slot, "shared": 0, "replicate": 1,
            "cdrom": u8::from(drive.is_cdrom()), "is_attached": 1, "is_unused": 0,
            "is_cloudinit": u8::from(drive.is_cloudinit()), "is_tpmstate": u8::from(slot == "tpmstate0"),
            "is_vmstate": 0, "size": size.map_or(0, |info| info.virtual_size)}));
    }
    for (_, value) in main.iter().filter(|(key, _)| is_unused(key)) {
        disks.push(
            json!({"volid": Drive::parse(value).file, "shared": 0, "replicate": 1, "cdrom": 0,
            "is_attached": 0, "is_unused": 1, "is_cloudinit": 0, "is_tpmstate": 0,
            "is_vmstate": 0}),
        );
    }
    if call.shared.old() {
        for row in disks.iter_mut().filter_map(Value::as_object_mut) {
            row.shift_remove("is_cloudinit");
        }
    }
    let others: Vec<String> = {
        let state = call.state();
        state.cluster.nodes.keys().filter(|name| *name != call.node()).cloned().collect()
    };
    let mut row = json!({"running": u8::from(guest.running.is_some()), "local_disks": disks,
        "local_resources": [], "mapped-resources": [], "mapped-resource-info": {},
        "allowed_nodes": others, "not_allowed_nodes": {}});
    if !call.shared.old() {
        row["has-dbus-vmstate"] = json!(1);
    }
    Ok(row)
}

/// The disks that the other nodes do not see.
fn local_disks(shared: &Shared, guest: &Guest) -> Vec<String> {
    drives(&guest.config.main)
        .into_iter()
        .filter(|(_, drive)| !drive.is_cdrom() || drive.is_cloudinit())
        .filter(|(_, drive)| {
            volumes::locate(shared, &drive.file).is_ok_and(|(_, storage)| !storage.shared)
        })
        .map(|(_, drive)| drive.file)
        .collect()
}

/// The storages that volumes shall go to: there, for images, and the caller's to use.
fn target_storages(call: &Call, map: &str) -> Result<(), ApiError> {
    for pair in map.split([',', ';', ' ']).filter(|pair| !pair.is_empty() && *pair != "1") {
        let name = pair.split_once(':').map_or(pair, |(_, to)| to);
        {
            let state = call.state();
            let Some(storage) = state.cluster.storages.get(name) else {
                return Err(ApiError::internal(format!("storage '{name}' does not exist")));
            };
            if !storage.content.iter().any(|content| content == "images") {
                let text = format!("storage '{name}' does not support vm images");
                return Err(ApiError::param("targetstorage", &text));
            }
        }
        call.require(&format!("/storage/{name}"), "Datastore.AllocateSpace")?;
    }
    Ok(())
}

/// Moves the VM to another node. Its files stay where they are: all nodes share the lab's disk.
pub(crate) fn migrate(call: Call) -> ApiResult {
    let vmid = call.vmid();
    let target = call.params.text("target").to_owned();
    {
        let state = call.state();
        if target == call.node() {
            return Err(ApiError::param("target", "target is local node."));
        }
        if !state.cluster.nodes.contains_key(&target) {
            return Err(ApiError::internal(format!("no such cluster node '{target}'")));
        }
        let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
        if guest.running.is_some() && !call.params.flag("online") {
            return Err(ApiError::internal("can't migrate running VM without --online"));
        }
    }
    if let Some(map) = call.params.get("targetstorage") {
        target_storages(&call, map)?;
    }
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    let with_local_disks = call.params.flag("with-local-disks");
    call.task("qmigrate", &vmid.to_string(), move |task| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        let guest = {
            let state = shared.state();
            let guest = state.vm(&node, vmid)?;
            guest.check_lock()?;
            guest.clone()
        };
        let local = local_disks(&shared, &guest);
        if guest.running.is_some() && !with_local_disks && !local.is_empty() {
            for volid in local {
                task.log(format!(
                    "ERROR: can't migrate '{volid}': can't live migrate attached local disks \
                     without with-local-disks option"
                ));
            }
            return Err("migration aborted".to_owned());
        }
        let mut state = shared.state();
        if let Some(mut guest) = state.guests.get(&vmid).cloned() {
            state.remove_guest(vmid);
            guest.node.clone_from(&target);
            state.guests.insert(vmid, guest);
            state.save_guest(vmid);
        }
        drop(state);
        task.log(format!("migration finished successfully: VM {vmid} is on {target}"));
        Ok(())
    })
}

/// An hour without events.
pub(crate) fn rrd(call: Call) -> ApiResult {
    call.vm_exists()?;
    let last = now() / 60 * 60;
    Ok((0..60).map(|minute| json!({"time": last - (59 - minute) * 60})).collect::<Value>())
}
