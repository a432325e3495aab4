//! `/nodes/{node}/qemu/{vmid}/config`.

use std::sync::Arc;

use super::super::super::call::{Call, NOTHING};
use super::super::super::error::{ApiError, ApiResult};
use super::update::{self, Update};
use super::values;

/// The configuration with what is pending, that in force, or that of a snapshot.
pub(crate) fn get(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let config = &guest.config;
    let section = match call.params.get("snapshot") {
        Some(name) => config
            .snapshots
            .get(name)
            .cloned()
            .ok_or_else(|| ApiError::internal(format!("snapshot '{name}' does not exist")))?,
        None if call.params.flag("current") => config.main.clone(),
        None => config.merged(),
    };
    Ok(values::row(&call.shared.schema, &section, config))
}

/// Changes settings, and answers when it is done.
pub(crate) fn put(call: Call) -> ApiResult {
    let wanted = Update::read(&call)?;
    let _lock = call
        .shared
        .locks
        .take(call.vmid(), call.shared.lock_timeout())
        .map_err(ApiError::internal)?;
    update::precheck(&call, &wanted)?;
    update::apply(&call.shared, call.node(), call.vmid(), &wanted, &|_| {})?;
    NOTHING
}

/// Changes settings in a task.
pub(crate) fn post(call: Call) -> ApiResult {
    let wanted = Update::read(&call)?;
    let vmid = call.vmid();
    update::precheck(&call, &wanted)?;
    let words: Vec<String> = wanted
        .set
        .iter()
        .map(|(key, value)| format!("-{key} {}", crate::log::mask(key, value)))
        .collect();
    let shared = Arc::clone(&call.shared);
    let node = call.node().to_owned();
    let work = move |task: &super::super::super::call::TaskHandle| {
        task.log(format!("update VM {vmid}: {}", words.join(" ")));
        let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
        update::apply(&shared, &node, vmid, &wanted, &|line| task.log(line))
            .map_err(|error| error.errors.into_values().next().unwrap_or(error.message))
    };
    let node = call.node().to_owned();
    let (upid, thread) =
        call.shared.begin_task(&node, "qmconfig", &vmid.to_string(), &call.who, work);
    if call.params.number("background_delay").is_none_or(|seconds| seconds == 0) {
        return Ok(upid.into());
    }
    // the work of a lab is done long before any delay is over
    let _ = thread.join();
    let failed = call.state().tasks.get(&upid).and_then(|task| task.exitstatus.clone());
    match failed {
        Some(status) if status != "OK" => Err(ApiError::internal(status)),
        _ => NOTHING,
    }
}

/// Takes disks out, as `delete` would.
pub(crate) fn unlink(call: Call) -> ApiResult {
    let wanted = Update {
        delete: call.params.list("idlist"),
        force: call.params.flag("force"),
        ..Update::default()
    };
    let _lock = call
        .shared
        .locks
        .take(call.vmid(), call.shared.lock_timeout())
        .map_err(ApiError::internal)?;
    update::precheck(&call, &wanted)?;
    update::apply(&call.shared, call.node(), call.vmid(), &wanted, &|_| {})?;
    NOTHING
}
