//! `POST /nodes/{node}/qemu` with `archive`: a VM from a backup.
//!
//! Not recorded. A backup of the lab is the text of the guest's configuration; the disks come back
//! in their sizes, and empty.

use std::sync::Arc;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::size;
use super::{checks, create, values, volumes};
use crate::shared::Shared;
use crate::state::config::{Config, Section};
use crate::state::guest::{Drive, is_disk, is_slot, is_unused};
use crate::state::storage::Volume;

/// Answers the call.
pub(crate) fn restore(call: &Call, archive: &str, pool: Option<&str>) -> ApiResult {
    let vmid = call.vmid();
    let (volume, storage) =
        volumes::locate(&call.shared, archive).map_err(|text| ApiError::param("archive", text))?;
    if volume.content != "backup" {
        return Err(ApiError::param("archive", format!("'{archive}' is no backup volume")));
    }
    let mut parts = volume.name.strip_prefix("vzdump-qemu-").unwrap_or_default().split('-');
    let owner = parts.next().and_then(|vmid| vmid.parse::<u32>().ok());
    // one's own backup may be read in any case
    if owner != Some(vmid) {
        call.require(&format!("/storage/{}", storage.id), "Datastore.AllocateSpace")?;
        if let Some(owner) = owner {
            call.require(&format!("/vms/{owner}"), "VM.Backup")?;
        }
    }
    let text = std::fs::read_to_string(volume.file(&storage))
        .map_err(|_| ApiError::internal(format!("volume '{archive}' does not exist")))?;
    let target = call.params.get("storage").map(str::to_owned);
    if let Some(target) = &target {
        call.require(&format!("/storage/{target}"), "Datastore.AllocateSpace")?;
    }
    if call.state().guests.contains_key(&vmid) {
        return Err(ApiError::internal(format!(
            "unable to restore VM {vmid} - VM {vmid} already exists on node '{}'",
            call.node()
        )));
    }
    // PVE looks at what the backup holds in the task
    let saved = Config::parse(&text).main;
    let allowed = checks::bridges(call, &saved).and_then(|()| {
        let disks = saved.iter().filter(|(key, _)| is_disk(key));
        disks.map(|(_, value)| Drive::parse(value).file).try_for_each(|file| match &target {
            None if Volume::parse(&file).is_some_and(|volume| volume.vmid.is_some()) => {
                let storage = file.split(':').next().unwrap_or_default();
                call.require(&format!("/storage/{storage}"), "Datastore.AllocateSpace")
            }
            _ => Ok(()),
        })
    });
    create::reserve(call, vmid, pool)?;
    let (shared, unique) = (Arc::clone(&call.shared), call.params.flag("unique"));
    let archive = archive.to_owned();
    call.task("qmrestore", &vmid.to_string(), move |task| {
        task.log(format!("restore vma archive: {archive}"));
        let built = allowed
            .map_err(|refusal| refusal.message)
            .and_then(|()| build(&shared, vmid, &saved, target.as_deref(), unique, task));
        match built {
            Ok(main) => {
                let mut state = shared.state();
                if let Some(guest) = state.guests.get_mut(&vmid) {
                    guest.config = Config { main, ..Config::default() };
                }
                state.save_guest(vmid);
                Ok(())
            }
            Err(text) => {
                shared.state().remove_guest(vmid);
                Err(format!("unable to restore VM {vmid} - {text}"))
            }
        }
    })
}

/// The configuration in a backup.
pub(crate) fn extract(call: Call) -> ApiResult {
    let archive = call.params.text("volume");
    let (volume, storage) =
        volumes::locate(&call.shared, archive).map_err(|text| ApiError::param("volume", text))?;
    call.require(&format!("/storage/{}", storage.id), "Datastore.AllocateSpace")?;
    std::fs::read_to_string(volume.file(&storage))
        .map(serde_json::Value::from)
        .map_err(|_| ApiError::internal(format!("volume '{archive}' does not exist")))
}

fn build(
    shared: &Shared,
    vmid: u32,
    saved: &Section,
    target: Option<&str>,
    unique: bool,
    task: &TaskHandle,
) -> Result<Section, String> {
    let mut main = Section::new();
    for (key, value) in saved {
        if is_unused(key) || matches!(key.as_str(), "lock" | "parent") {
            continue;
        }
        if !is_disk(key) {
            let value = if unique && is_slot(key, "net") {
                let (model, _, rest) = values::net_parts(value);
                let rest: String = rest.iter().map(|(k, v)| format!(",{k}={v}")).collect();
                format!("{model}={}{rest}", crate::random::mac())
            } else {
                value.clone()
            };
            main.insert(key.clone(), value);
            continue;
        }
        let mut drive = Drive::parse(value);
        if !drive.is_cdrom() || drive.is_cloudinit() {
            let storage = target.map_or_else(
                || drive.file.split(':').next().unwrap_or_default().to_owned(),
                str::to_owned,
            );
            let bytes = drive.options.get("size").and_then(|text| size::parse(text)).unwrap_or(0);
            drive.file = if drive.is_cloudinit() {
                format!("{storage}:cloudinit")
            } else {
                format!("{storage}:{}", bytes as f64 / f64::from(1 << 30))
            };
        }
        let (kept, _) =
            volumes::realize(shared, vmid, key, &drive.print(), &|line| task.log(line))?;
        main.insert(key.clone(), kept);
    }
    Ok(main)
}
