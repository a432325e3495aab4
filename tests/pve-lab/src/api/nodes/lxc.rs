//! `/nodes/{node}/lxc`: containers to be listed, for inventories; they cannot be made or changed.

use std::sync::Arc;

use serde_json::{Value, json};

use super::super::call::{Call, Route};
use super::super::error::{ApiError, ApiResult};
use super::qemu::status::uptime;
use crate::state::guest::Running;
use crate::state::{Guest, Kind, missing, now};

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/lxc", list),
    ("GET", "/nodes/{node}/lxc/{vmid}/config", config),
    ("GET", "/nodes/{node}/lxc/{vmid}/interfaces", interfaces),
    ("GET", "/nodes/{node}/lxc/{vmid}/status/current", current),
    ("POST", "/nodes/{node}/lxc/{vmid}/status/start", start),
    ("POST", "/nodes/{node}/lxc/{vmid}/status/stop", stop),
    ("POST", "/nodes/{node}/lxc/{vmid}/status/shutdown", stop),
];

fn find(call: &Call) -> Result<Guest, ApiError> {
    let state = call.state();
    state
        .guests
        .get(&call.vmid())
        .filter(|guest| guest.kind == Kind::Lxc && guest.node == call.node())
        .cloned()
        .ok_or_else(|| ApiError::internal(missing(call.node(), Kind::Lxc, call.vmid())))
}

fn row(guest: &Guest) -> Value {
    let running = guest.running.is_some();
    let mut row = json!({"vmid": guest.vmid, "name": guest.name(), "type": "lxc",
        "status": if running { "running" } else { "stopped" }, "cpus": guest.cpus(), "cpu": 0,
        "maxmem": guest.memory() << 20, "mem": if running { 40 << 20 } else { 0 },
        "maxswap": guest.number("swap").unwrap_or(512) << 20, "swap": 0, "maxdisk": 0, "disk": 0,
        "diskread": 0, "diskwrite": 0, "netin": 0, "netout": 0, "uptime": uptime(guest)});
    for key in ["tags", "lock"] {
        if let Some(value) = guest.setting(key) {
            row[key] = json!(value);
        }
    }
    if let Some(running) = &guest.running {
        row["pid"] = json!(running.pid);
    }
    row
}

fn list(call: Call) -> ApiResult {
    let state = call.state();
    Ok(state
        .guests
        .values()
        .filter(|guest| guest.kind == Kind::Lxc && guest.node == call.node())
        .filter(|guest| {
            let path = format!("/vms/{}", guest.vmid);
            super::super::permissions::allows(&state, &call.who, &path, "VM.Audit")
        })
        .map(row)
        .collect())
}

fn config(call: Call) -> ApiResult {
    let guest = find(&call)?;
    let mut row = json!({});
    for (key, value) in &guest.config.main {
        let number = matches!(
            key.as_str(),
            "memory"
                | "swap"
                | "cores"
                | "unprivileged"
                | "onboot"
                | "template"
                | "protection"
                | "cpuunits"
                | "console"
                | "tty"
        );
        row[key] = match value.parse::<u64>() {
            Ok(number_value) if number => json!(number_value),
            _ => json!(value),
        };
    }
    row["digest"] = json!(guest.config.digest());
    Ok(row)
}

fn interfaces(call: Call) -> ApiResult {
    let guest = find(&call)?;
    if guest.running.is_none() {
        return Ok(Value::Null);
    }
    Ok(guest.interfaces.unwrap_or_else(|| json!([])))
}

fn current(call: Call) -> ApiResult {
    let guest = find(&call)?;
    let mut row = row(&guest);
    row["ha"] = json!({"managed": 0});
    if !call.shared.old() {
        for kind in ["cpu", "io", "memory"] {
            for part in ["some", "full"] {
                row[format!("pressure{kind}{part}")] = json!("0.00");
            }
        }
    }
    Ok(row)
}

fn start(call: Call) -> ApiResult {
    let vmid = call.vmid();
    if find(&call)?.running.is_some() {
        return Err(ApiError::internal(format!("CT {vmid} already running")));
    }
    let shared = Arc::clone(&call.shared);
    call.task("vzstart", &vmid.to_string(), move |_| {
        let mut state = shared.state();
        let guest = state.guests.get_mut(&vmid).ok_or("container is gone")?;
        guest.check_lock()?;
        guest.running =
            Some(Running { pid: 1000 + vmid, since: now(), paused: false, machine: String::new() });
        Ok(())
    })
}

fn stop(call: Call) -> ApiResult {
    let vmid = call.vmid();
    if find(&call)?.running.is_none() {
        return Err(ApiError::internal(format!("CT {vmid} not running")));
    }
    let shared = Arc::clone(&call.shared);
    call.task("vzstop", &vmid.to_string(), move |_| {
        shared.state().stopped(vmid);
        Ok(())
    })
}
