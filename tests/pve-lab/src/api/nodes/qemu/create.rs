//! `POST /nodes/{node}/qemu`: a new VM.

use std::sync::Arc;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::params::Param;
use super::{checks, power, restore, values, volumes};
use crate::shared::Shared;
use crate::state::config::{Config, Section};
use crate::state::guest::{default_boot, is_disk};
use crate::state::{Guest, Kind, now};

/// What is no setting of the guest.
const OPTIONS: &[&str] = &[
    "node",
    "vmid",
    "archive",
    "bwlimit",
    "force",
    "ha-managed",
    "import-working-storage",
    "live-restore",
    "pool",
    "start",
    "storage",
    "unique",
];

/// The settings among the parameters.
pub(crate) fn settings(call: &Call, options: &[&str]) -> Result<Section, ApiError> {
    let mut set = Section::new();
    for (key, value) in &call.params.0 {
        if options.contains(&key.as_str()) {
            continue;
        }
        match value {
            Param::One(text) => set.insert(key.clone(), text.clone()),
            Param::Many(values) => set.insert(key.clone(), values.join(",")),
            Param::Undefined => {
                return Err(ApiError::internal(format!(
                    "unable to parse value of '{key}' - got undefined value"
                )));
            }
        };
    }
    Ok(set)
}

/// Checks keys that only ssh-keygen can judge.
pub(crate) fn ssh_keys(set: &Section) -> Result<(), ApiError> {
    match set.get("sshkeys") {
        Some(keys) if !values::are_ssh_keys(keys) => {
            Err(ApiError::internal("SSH public key validation error"))
        }
        _ => Ok(()),
    }
}

/// Answers the call.
pub(crate) fn create(call: Call) -> ApiResult {
    let vmid = call.vmid();
    let pool = call.params.get("pool").map(str::to_owned);
    if let Some(pool) = &pool
        && !call.state().cluster.pools.contains_key(pool)
    {
        return Err(ApiError::forbidden(&format!("pool '{pool}' does not exist")));
    }
    let allowed = call.allows(&format!("/vms/{vmid}"), "VM.Allocate")
        || pool.as_ref().is_some_and(|pool| call.allows(&format!("/pool/{pool}"), "VM.Allocate"));
    if !allowed {
        return Err(ApiError::forbidden(""));
    }
    if let Some(archive) = call.params.get("archive") {
        return restore::restore(&call, archive, pool.as_deref());
    }
    let mut set = settings(&call, OPTIONS)?;
    ssh_keys(&set)?;
    checks::storages(&call, &set)?;
    checks::keys(
        &call,
        vmid,
        pool.as_deref(),
        set.iter().map(|(k, v)| (k.as_str(), Some(v.as_str()))),
    )?;
    checks::devices(&call, &set)?;
    checks::bridges(&call, &set)?;
    for (key, value) in std::mem::take(&mut set) {
        let kept = if is_disk(&key) {
            Some(value)
        } else {
            values::kept(&call.shared.schema, &key, &value)
        };
        if let Some(kept) = kept {
            set.insert(key, kept);
        }
    }
    reserve(&call, vmid, pool.as_deref())?;
    let shared = Arc::clone(&call.shared);
    let start = call.params.flag("start");
    let (node, who) = (call.node().to_owned(), call.who.clone());
    call.task("qmcreate", &vmid.to_string(), move |task| {
        if let Err(text) = build(&shared, vmid, set, task) {
            let mut state = shared.state();
            for pool in state.cluster.pools.values_mut() {
                pool.guests.retain(|have| *have != vmid);
            }
            state.remove_guest(vmid);
            return Err(format!("unable to create VM {vmid} - {text}"));
        }
        if start {
            let (_, thread) =
                shared.begin_task(&node.clone(), "qmstart", &vmid.to_string(), &who, {
                    let shared = Arc::clone(&shared);
                    move |task| power::bring_up(&shared, &node, vmid, task)
                });
            // the creation is done once the start has been tried
            let _ = thread.join();
        }
        Ok(())
    })
}

/// Puts an empty, locked configuration in place, so that nobody else takes the number.
pub(crate) fn reserve(call: &Call, vmid: u32, pool: Option<&str>) -> Result<(), ApiError> {
    let known_from = call.shared.known_from();
    let mut state = call.state();
    if let Some(other) = state.guests.get(&vmid) {
        let kind = if other.kind == Kind::Qemu { "VM" } else { "CT" };
        return Err(ApiError::internal(format!(
            "unable to create VM {vmid} - {kind} {vmid} already exists on node '{}'",
            other.node
        )));
    }
    let mut config = Config::default();
    config.main.insert("lock".to_owned(), "create".to_owned());
    let guest = Guest::new(vmid, Kind::Qemu, call.node(), config, known_from);
    state.guests.insert(vmid, guest);
    if let Some(pool) = pool.and_then(|pool| state.cluster.pools.get_mut(pool)) {
        pool.guests.push(vmid);
        state.save_cluster();
    }
    state.save_guest(vmid);
    Ok(())
}

fn build(shared: &Shared, vmid: u32, set: Section, task: &TaskHandle) -> Result<(), String> {
    task.planned_failure()?;
    let mut main = Section::new();
    let mut made = Vec::new();
    for (key, value) in set {
        if !is_disk(&key) {
            main.insert(key, value);
            continue;
        }
        match volumes::realize(shared, vmid, &key, &value, &|line| task.log(line)) {
            Ok((kept, volume)) => {
                made.extend(volume);
                main.insert(key, kept);
            }
            Err(text) => {
                for volid in &made {
                    volumes::remove(shared, volid)?;
                }
                return Err(text);
            }
        }
    }
    complete(&mut main);
    let mut state = shared.state();
    if let Some(guest) = state.guests.get_mut(&vmid) {
        guest.config = Config { main, ..Config::default() };
    }
    state.save_guest(vmid);
    Ok(())
}

/// Adds what PVE adds to every new VM.
fn complete(main: &mut Section) {
    if !main.contains_key("boot") {
        let boot = default_boot(main);
        main.insert("boot".to_owned(), boot);
    }
    main.insert("meta".to_owned(), format!("creation-qemu=10.0.13,ctime={}", now()));
    if !main.get("smbios1").is_some_and(|text| text.contains("uuid=")) {
        let uuid = format!("uuid={}", crate::random::uuid());
        let text = match main.get("smbios1") {
            Some(rest) => format!("{uuid},{rest}"),
            None => uuid,
        };
        main.insert("smbios1".to_owned(), text);
    }
    match main.get("vmgenid").map(String::as_str) {
        Some("0") => {
            main.remove("vmgenid");
        }
        None | Some("1") => {
            main.insert("vmgenid".to_owned(), crate::random::uuid());
        }
        Some(_) => {}
    }
}
