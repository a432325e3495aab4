//! `resize` and `move_disk`.

use std::sync::Arc;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::size;
use super::{disks, volumes};
use crate::driver::VolumeFormat;
use crate::shared::Shared;
use crate::state::guest::Drive;

/// Grows a disk.
pub(crate) fn resize(call: Call) -> ApiResult {
    call.vm_exists()?;
    let vmid = call.vmid();
    let (disk, wanted) = (call.params.text("disk").to_owned(), call.params.text("size").to_owned());
    let digest = call.params.get("digest").map(str::to_owned);
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("resize", &vmid.to_string(), move |task| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        grow(&shared, &node, vmid, &disk, &wanted, digest.as_deref(), task)
    })
}

fn grow(
    shared: &Shared,
    node: &str,
    vmid: u32,
    disk: &str,
    wanted: &str,
    digest: Option<&str>,
    task: &TaskHandle,
) -> Result<(), String> {
    let (value, running) = {
        let state = shared.state();
        let guest = state.vm(node, vmid)?;
        if digest.is_some_and(|digest| digest != guest.config.digest()) {
            return Err("checksum mismatch (file change by other user?)".to_owned());
        }
        guest.check_lock()?;
        let value = guest.setting(disk).map(str::to_owned);
        (value.ok_or_else(|| format!("disk '{disk}' does not exist"))?, guest.running.is_some())
    };
    let mut drive = Drive::parse(&value);
    if drive.is_cdrom() {
        return Err("you can't resize a cdrom".to_owned());
    }
    let (volume, storage) = volumes::locate(shared, &drive.file)?;
    let file = volume.file(&storage);
    let info = shared.driver.volume_info(&file).map_err(|e| e.to_string())?;
    let given = size::parse(wanted.trim_start_matches('+')).unwrap_or(0);
    let bytes = if wanted.starts_with('+') { info.virtual_size + given } else { given };
    if bytes < info.virtual_size {
        return Err("shrinking disks is not supported".to_owned());
    }
    if bytes == info.virtual_size {
        return Ok(());
    }
    shared
        .driver
        .resize_volume(running.then_some(vmid), &file, info.format, bytes)
        .map_err(|e| e.to_string())?;
    if !running {
        task.log("Image resized.");
    }
    drive.options.insert("size".to_owned(), size::print(bytes));
    let mut state = shared.state();
    state.vm_mut(node, vmid)?.config.main.insert(disk.to_owned(), drive.print());
    state.save_guest(vmid);
    Ok(())
}

/// Moves a disk to another storage or format.
pub(crate) fn move_disk(call: Call) -> ApiResult {
    call.vm_exists()?;
    let vmid = call.vmid();
    let slot = call.params.text("disk").to_owned();
    let value = {
        let state = call.state();
        let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
        guest.check_lock().map_err(ApiError::internal)?;
        guest.setting(&slot).map(str::to_owned)
    };
    let value = value.ok_or_else(|| ApiError::internal(format!("disk '{slot}' does not exist")))?;
    let drive = Drive::parse(&value);
    if drive.is_cdrom() {
        return Err(ApiError::internal("you can't move a cdrom"));
    }
    let (volume, old) = volumes::locate(&call.shared, &drive.file).map_err(ApiError::internal)?;
    let target = call.params.get("storage").unwrap_or(&old.id).to_owned();
    let new = call.state().storage(&target).cloned().map_err(ApiError::internal)?;
    let now = VolumeFormat::of_path(&volume.file(&old));
    let format = call.params.get("format").map_or(now, volumes::format_of);
    if target == old.id && format == now {
        return Err(ApiError::internal("you can't move to the same storage with same format"));
    }
    if !new.holds("images") {
        return Err(ApiError::param(
            "storage",
            format!("storage '{target}' does not support vm images"),
        ));
    }
    let delete = call.params.flag("delete");
    let shared = Arc::clone(&call.shared);
    let node = call.node().to_owned();
    call.task("qmmove", &vmid.to_string(), move |task| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        let name = new.next_disk(vmid, &[]);
        let volid = format!("{target}:{vmid}/{name}.{}", format.as_str());
        task.log(format!("create full clone of drive {slot} ({})", drive.file));
        let (copy, storage) = volumes::locate(&shared, &volid)?;
        shared
            .driver
            .import_volume(&volume.file(&old), &copy.file(&storage), shared.driver.stores(format))
            .map_err(|e| e.to_string())?;
        let mut moved = drive.clone();
        moved.file.clone_from(&volid);
        let kept = moved.print();
        let change = disks::Change { key: &slot, kept: &kept, after: &moved };
        let mut config = shared.state().vm(&node, vmid)?.config.clone();
        if delete {
            volumes::remove(&shared, &drive.file)?;
            config.main.insert(slot.clone(), kept);
        } else {
            disks::put_in(&shared, vmid, &mut config, &change)?;
        }
        let mut state = shared.state();
        state.vm_mut(&node, vmid)?.config = config;
        state.save_guest(vmid);
        Ok(())
    })
}
