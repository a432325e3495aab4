//! `clone`: a full copy, or a linked one of a template.

use std::sync::Arc;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::size;
use super::{checks, values, volumes};
use crate::driver::VolumeFormat;
use crate::shared::Shared;
use crate::state::config::{Config, Section};
use crate::state::guest::{Drive, drives, is_disk, is_slot, is_unused};
use crate::state::storage::Volume;
use crate::state::{Guest, Kind, State};

struct Plan {
    source: Section,
    newid: u32,
    full: bool,
    storage: Option<String>,
    format: Option<VolumeFormat>,
}

/// Answers the call.
pub(crate) fn clone(call: Call) -> ApiResult {
    let vmid = call.vmid();
    let newid = call.params.number("newid").and_then(|id| u32::try_from(id).ok()).unwrap_or(0);
    let target = call.params.get("target").unwrap_or(call.node()).to_owned();
    allowed(&call, newid)?;
    let plan = {
        let state = call.state();
        if !state.cluster.nodes.contains_key(&target) {
            return Err(ApiError::internal(format!("no such cluster node '{target}'")));
        }
        let guest = state.vm(call.node(), vmid).map_err(|_| {
            ApiError::internal(format!(
                "unable to find configuration file for VM {vmid} on node '{}'",
                call.node()
            ))
        })?;
        let full = call.params.get("full").map_or(!guest.is_template(), |full| full == "1");
        let storage = call.params.get("storage").map(str::to_owned);
        if storage.is_some() && !full {
            return Err(ApiError::internal("parameter 'storage' not allowed for linked clones"));
        }
        guest.check_lock().map_err(ApiError::internal)?;
        let source =
            match call.params.get("snapname") {
                Some(name) => guest.config.snapshots.get(name).ok_or_else(|| {
                    ApiError::internal(format!("snapshot '{name}' does not exist"))
                })?,
                None => &guest.config.main,
            };
        is_free(&state, newid)?;
        if let Some(id) = &storage {
            let storage = state.storage(id).map_err(ApiError::internal)?;
            if !storage.holds("images") {
                return Err(ApiError::param(
                    "storage",
                    format!("storage '{id}' does not support vm images"),
                ));
            }
        }
        if !full && !guest.is_template() {
            let disk = drives(source).into_iter().find(|(_, drive)| !drive.is_cdrom());
            if let Some((slot, drive)) = disk {
                return Err(ApiError::internal(format!(
                    "Linked clone feature is not supported for '{}' ({slot})",
                    drive.file
                )));
            }
        }
        let format = call.params.get("format").map(volumes::format_of);
        Plan { source: source.clone(), newid, full, storage, format }
    };
    for (_, drive) in drives(&plan.source) {
        let Some(volume) = Volume::parse(&drive.file).filter(|volume| volume.vmid.is_some()) else {
            continue;
        };
        let storage = plan.storage.as_ref().unwrap_or(&volume.storage);
        call.require(&format!("/storage/{storage}"), "Datastore.AllocateSpace")?;
    }
    checks::bridges(&call, &plan.source)?;
    let pool = call.params.get("pool");
    if let Some(pool) = pool.filter(|pool| !call.state().cluster.pools.contains_key(*pool)) {
        return Err(ApiError::forbidden(&format!("pool '{pool}' does not exist")));
    }
    reserve(&call, newid, &target, pool)?;
    let named = call.params.get("name").map(str::to_owned);
    let description = call.params.get("description").map(str::to_owned);
    let shared = Arc::clone(&call.shared);
    call.task("qmclone", &vmid.to_string(), move |task| {
        task.log(format!("creating a clone of VM {vmid} with ID {newid}"));
        let copied = copy(&shared, &plan, task);
        let mut state = shared.state();
        let mut main = match copied {
            Ok(main) => main,
            Err(text) => {
                state.remove_guest(newid);
                return Err(format!("clone failed: {text}"));
            }
        };
        let name = named.unwrap_or_else(|| match plan.source.get("name") {
            Some(name) => format!("Copy-of-VM-{name}"),
            None => format!("Copy-of-VM-{vmid}"),
        });
        main.insert("name".to_owned(), name);
        if let Some(description) = description {
            main.insert("description".to_owned(), description);
        }
        if let Some(guest) = state.guests.get_mut(&newid) {
            guest.config = Config { main, ..Config::default() };
        }
        state.save_guest(newid);
        Ok(())
    })
}

fn allowed(call: &Call, newid: u32) -> Result<(), ApiError> {
    let by_pool = call
        .params
        .get("pool")
        .is_some_and(|pool| call.allows(&format!("/pool/{pool}"), "VM.Allocate"));
    if by_pool { Ok(()) } else { call.require(&format!("/vms/{newid}"), "VM.Allocate") }
}

fn is_free(state: &State, newid: u32) -> Result<(), ApiError> {
    let Some(other) = state.guests.get(&newid) else { return Ok(()) };
    let kind = if other.kind == Kind::Qemu { "VM" } else { "CT" };
    Err(ApiError::internal(format!("unable to create {kind} {newid}: config file already exists")))
}

/// Takes the number, unless another call has come first since it was looked for.
fn reserve(call: &Call, newid: u32, node: &str, pool: Option<&str>) -> Result<(), ApiError> {
    let known_from = call.shared.known_from();
    let mut state = call.state();
    is_free(&state, newid)?;
    let mut config = Config::default();
    config.main.insert("lock".to_owned(), "clone".to_owned());
    state.guests.insert(newid, Guest::new(newid, Kind::Qemu, node, config, known_from));
    if let Some(pool) = pool.and_then(|pool| state.cluster.pools.get_mut(pool)) {
        pool.guests.push(newid);
        state.save_cluster();
    }
    state.save_guest(newid);
    Ok(())
}

/// The new guest's settings: disks copied, everything that must be unique made anew.
fn copy(shared: &Shared, plan: &Plan, task: &TaskHandle) -> Result<Section, String> {
    task.planned_failure()?;
    let mut main = Section::new();
    for (key, value) in &plan.source {
        let kept = match key.as_str() {
            "template" | "lock" | "parent" | "snaptime" | "vmstate" | "digest" => continue,
            "smbios1" => uuid_replaced(value),
            "vmgenid" => crate::random::uuid(),
            key if is_unused(key) => continue,
            key if is_slot(key, "net") => {
                let (model, _, rest) = values::net_parts(value);
                let mut text = format!("{model}={}", crate::random::mac());
                for (key, value) in rest {
                    text.push_str(&format!(",{key}={value}"));
                }
                text
            }
            key if is_disk(key) => disk(shared, plan, key, value, task)?,
            _ => value.clone(),
        };
        main.insert(key.clone(), kept);
    }
    Ok(main)
}

fn uuid_replaced(smbios: &str) -> String {
    smbios
        .split(',')
        .map(|part| match part.strip_prefix("uuid=") {
            Some(_) => format!("uuid={}", crate::random::uuid()),
            None => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join(",")
}

fn disk(
    shared: &Shared,
    plan: &Plan,
    slot: &str,
    value: &str,
    task: &TaskHandle,
) -> Result<String, String> {
    let mut drive = Drive::parse(value);
    if drive.is_cdrom() && !drive.is_cloudinit() {
        return Ok(value.to_owned());
    }
    let (volume, old) = volumes::locate(shared, &drive.file)?;
    let file = volume.file(&old);
    let info = shared.driver.volume_info(&file).map_err(|e| e.to_string())?;
    let target = match &plan.storage {
        Some(id) => shared.state().storage(id)?.clone(),
        None => old.clone(),
    };
    let newid = plan.newid;
    let linked = !plan.full && !drive.is_cloudinit();
    let format = if linked {
        VolumeFormat::Qcow2
    } else {
        plan.format.unwrap_or_else(|| VolumeFormat::of_path(&file))
    };
    let name = if drive.is_cloudinit() {
        format!("vm-{newid}-cloudinit")
    } else {
        target.next_disk(newid, &[])
    };
    let own = format!("{newid}/{name}.{}", format.as_str());
    let below =
        if linked { format!("{}/{}/{own}", volume.vmid.unwrap_or(0), volume.name) } else { own };
    let volid = format!("{}:{below}", target.id);
    let kind = if linked { "linked" } else { "full" };
    task.log(format!("create {kind} clone of drive {slot} ({})", drive.file));
    let (copy, storage) = volumes::locate(shared, &volid)?;
    shared
        .driver
        .import_volume(&file, &copy.file(&storage), shared.driver.stores(format))
        .map_err(|e| e.to_string())?;
    drive.file = volid;
    drive.options.insert("size".to_owned(), size::print(info.virtual_size));
    Ok(drive.print())
}
