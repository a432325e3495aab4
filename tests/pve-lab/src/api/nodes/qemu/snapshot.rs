//! `snapshot`: states to go back to. The lab keeps the settings; the disks stay as they are.

use std::sync::Arc;

use serde_json::json;

use super::super::super::call::{Call, NOTHING};
use super::super::super::error::{ApiError, ApiResult};
use super::{power, values};
use crate::shared::Shared;
use crate::state::config::Section;
use crate::state::guest::drives;
use crate::state::now;

/// All snapshots, and where the guest is now.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let mut rows = Vec::new();
    for (name, section) in &guest.config.snapshots {
        let text = |key: &str| section.get(key).cloned().unwrap_or_default();
        let mut row = json!({"name": name, "description": text("description"),
            "snaptime": text("snaptime").parse::<u64>().unwrap_or(0),
            "vmstate": u8::from(section.contains_key("vmstate"))});
        if let Some(parent) = section.get("parent") {
            row["parent"] = json!(parent);
        }
        rows.push(row);
    }
    let mut current = json!({"name": "current", "description": "You are here!",
        "digest": guest.config.digest(), "running": u8::from(guest.running.is_some())});
    if let Some(parent) = guest.setting("parent") {
        current["parent"] = json!(parent);
    }
    rows.push(current);
    Ok(json!(rows))
}

/// Whether all disks can do snapshots; raw files cannot.
pub(crate) fn possible(main: &Section) -> bool {
    drives(main)
        .iter()
        .filter(|(_, drive)| !drive.is_cdrom())
        .all(|(_, drive)| !drive.file.ends_with(".raw"))
}

/// Takes a snapshot.
pub(crate) fn create(call: Call) -> ApiResult {
    call.vm_exists()?;
    let vmid = call.vmid();
    let name = call.params.text("snapname").to_owned();
    if matches!(name.as_str(), "current" | "pending") {
        return Err(ApiError::internal(format!(
            "unable to use snapshot name '{name}' (reserved name)"
        )));
    }
    let description = call.params.get("description").map(str::to_owned);
    let memory = call.params.flag("vmstate");
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("qmsnapshot", &vmid.to_string(), move |_| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        let mut state = shared.state();
        let guest = state.vm_mut(&node, vmid)?;
        guest.check_lock()?;
        if guest.is_template() {
            return Err("you can't take a snapshot if it's a template".to_owned());
        }
        if guest.config.snapshots.contains_key(&name) {
            return Err(format!("snapshot name '{name}' already used"));
        }
        if !possible(&guest.config.main) {
            return Err("snapshot feature is not available".to_owned());
        }
        let mut section = guest.config.main.clone();
        section.remove("description");
        section.retain(|key, _| !key.starts_with("unused"));
        if let Some(description) = description {
            section.insert("description".to_owned(), description);
        }
        section.insert("snaptime".to_owned(), now().to_string());
        if memory && guest.running.is_some() {
            section
                .insert("vmstate".to_owned(), format!("local:{vmid}/vm-{vmid}-state-{name}.raw"));
        }
        guest.config.snapshots.insert(name.clone(), section);
        guest.config.main.insert("parent".to_owned(), name);
        state.save_guest(vmid);
        Ok(())
    })
}

/// Removes a snapshot; its children get its parent.
pub(crate) fn delete(call: Call) -> ApiResult {
    call.vm_exists()?;
    let vmid = call.vmid();
    let name = call.params.text("snapname").to_owned();
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("qmdelsnapshot", &vmid.to_string(), move |_| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        let mut state = shared.state();
        let guest = state.vm_mut(&node, vmid)?;
        guest.check_lock()?;
        let removed = guest.config.snapshots.shift_remove(&name);
        let parent =
            removed.ok_or_else(|| format!("snapshot '{name}' does not exist"))?.remove("parent");
        let sections =
            guest.config.snapshots.values_mut().chain(std::iter::once(&mut guest.config.main));
        for section in sections {
            if section.get("parent") == Some(&name) {
                match &parent {
                    Some(parent) => section.insert("parent".to_owned(), parent.clone()),
                    None => section.remove("parent"),
                };
            }
        }
        state.save_guest(vmid);
        Ok(())
    })
}

fn find(call: &Call) -> Result<Section, ApiError> {
    let name = call.params.text("snapname");
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    guest
        .config
        .snapshots
        .get(name)
        .cloned()
        .ok_or_else(|| ApiError::internal(format!("snapshot '{name}' does not exist")))
}

/// The settings of a snapshot.
pub(crate) fn config(call: Call) -> ApiResult {
    let section = find(&call)?;
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let mut row = values::row(&call.shared.schema, &section, &guest.config);
    if let Some(map) = row.as_object_mut() {
        map.shift_remove("digest");
    }
    Ok(row)
}

/// Changes a snapshot's description.
pub(crate) fn describe(call: Call) -> ApiResult {
    find(&call)?;
    let vmid = call.vmid();
    let name = call.params.text("snapname").to_owned();
    let mut state = call.state();
    let guest = state.vm_mut(call.node(), vmid).map_err(ApiError::internal)?;
    if let Some(section) = guest.config.snapshots.get_mut(&name) {
        match call.params.get("description") {
            Some(text) => section.insert("description".to_owned(), text.to_owned()),
            None => section.remove("description"),
        };
    }
    state.save_guest(vmid);
    NOTHING
}

fn restore(shared: &Shared, node: &str, vmid: u32, name: &str) -> Result<bool, String> {
    let mut state = shared.state();
    let guest = state.vm_mut(node, vmid)?;
    guest.check_lock()?;
    let section = guest.config.snapshots.get(name);
    let mut main = section.cloned().ok_or_else(|| format!("snapshot '{name}' does not exist"))?;
    let running = guest.running.is_some();
    let with_memory = main.remove("vmstate").is_some();
    main.remove("snaptime");
    main.remove("description");
    for key in ["description"] {
        if let Some(value) = guest.config.main.get(key) {
            main.insert(key.to_owned(), value.clone());
        }
    }
    main.retain(|key, _| key != "parent");
    main.insert("parent".to_owned(), name.to_owned());
    guest.config.main = main;
    guest.config.pending.clear();
    guest.config.deletes.clear();
    state.save_guest(vmid);
    if running {
        drop(state);
        shared.driver.stop(vmid).map_err(|e| e.to_string())?;
        shared.state().stopped(vmid);
    }
    Ok(with_memory)
}

/// Goes back to a snapshot; a running guest is stopped, one with memory goes on from there.
pub(crate) fn rollback(call: Call) -> ApiResult {
    call.vm_exists()?;
    let vmid = call.vmid();
    let name = call.params.text("snapname").to_owned();
    let start = call.params.flag("start");
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("qmrollback", &vmid.to_string(), move |task| {
        let with_memory = {
            let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
            restore(&shared, &node, vmid, &name)?
        };
        if with_memory || start {
            return power::bring_up(&shared, &node, vmid, task);
        }
        Ok(())
    })
}
