//! `DELETE /nodes/{node}/qemu/{vmid}`: the end of a VM and its volumes.

use std::sync::Arc;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::volumes;
use crate::shared::Shared;
use crate::state::guest::{Drive, is_disk, is_unused};
use crate::state::storage::Volume;

/// Answers the call.
pub(crate) fn destroy(call: Call) -> ApiResult {
    let vmid = call.vmid();
    if call.params.flag("skiplock") && !call.who.is_root() {
        return Err(ApiError::param("skiplock", "Only root may use this option."));
    }
    let purge = call.params.flag("purge");
    {
        let state = call.state();
        let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
        if guest.setting("protection") == Some("1") {
            return Err(ApiError::internal(format!(
                "can't remove VM {vmid} - protection mode enabled"
            )));
        }
        if state.cluster.ha.contains_key(&format!("vm:{vmid}")) && !purge {
            return Err(ApiError::internal(format!(
                "unable to remove VM {vmid} - used in HA resources and purge parameter not set."
            )));
        }
        if guest.running.is_some() {
            return Err(ApiError::internal(format!("VM {vmid} is running - destroy failed")));
        }
    }
    let unreferenced = call.params.get("destroy-unreferenced-disks") != Some("0");
    let skiplock = call.params.flag("skiplock");
    let (shared, node) = (Arc::clone(&call.shared), call.node().to_owned());
    call.task("qmdestroy", &vmid.to_string(), move |task| {
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        carry_out(&shared, &node, vmid, Options { purge, unreferenced, skiplock }, task)
    })
}

struct Options {
    purge: bool,
    unreferenced: bool,
    skiplock: bool,
}

fn carry_out(
    shared: &Shared,
    node: &str,
    vmid: u32,
    options: Options,
    task: &TaskHandle,
) -> Result<(), String> {
    let volids = {
        let state = shared.state();
        let guest = state.vm(node, vmid)?;
        // a hibernated machine may go, and takes its memory along
        if !options.skiplock && guest.setting("lock") != Some("suspended") {
            guest.check_lock()?;
        }
        if guest.running.is_some() {
            return Err(format!("VM {vmid} is running - destroy failed"));
        }
        let mut volids: Vec<String> = guest
            .config
            .main
            .iter()
            .filter(|(key, _)| is_disk(key) || is_unused(key))
            .map(|(_, value)| Drive::parse(value).file)
            .filter(|file| Volume::parse(file).is_some_and(|volume| volume.vmid == Some(vmid)))
            .collect();
        for volid in &volids {
            if let Some(volume) = Volume::parse(volid)
                && volumes::refuse_base_in_use(&state, &volume).is_err()
            {
                return Err(format!("base volume '{volid}' is still in use by linked cloned"));
            }
        }
        if options.unreferenced {
            volids.extend(unreferenced(&state, vmid, &volids));
        }
        volids
    };
    for volid in &volids {
        volumes::remove(shared, volid)?;
    }
    if options.purge {
        task.log(format!("purging VM {vmid} from related configurations.."));
    }
    let mut state = shared.state();
    if options.purge {
        state.cluster.ha.remove(&format!("vm:{vmid}"));
        state.cluster.access.acl.retain(|grant| grant.path != format!("/vms/{vmid}"));
    }
    for pool in state.cluster.pools.values_mut() {
        pool.guests.retain(|have| *have != vmid);
    }
    state.cluster.rules.remove(&vmid);
    state.remove_guest(vmid);
    state.save_cluster();
    Ok(())
}

/// Disks with the guest's number that no setting names.
fn unreferenced(state: &crate::state::State, vmid: u32, known: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    for storage in state.cluster.storages.values() {
        let folder = storage.root.join("images").join(vmid.to_string());
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            let volid = format!("{}:{vmid}/{name}", storage.id);
            if !known.iter().any(|have| have.ends_with(&format!("/{name}"))) {
                found.push(volid);
            }
        }
    }
    found
}
