//! Lists of VMs, and what a VM does at this moment.

use serde_json::{Value, json};

use super::super::super::call::Call;
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::{permissions, size};
use crate::shared::Shared;
use crate::state::guest::{Drive, drives, is_slot, slot_number};
use crate::state::{Guest, Kind, now};

const USED: u64 = 40 << 20;

/// Seconds since a guest was started.
pub(crate) fn uptime(guest: &Guest) -> u64 {
    guest.running.as_ref().map_or(0, |running| now().saturating_sub(running.since))
}

/// The size of the first disk to boot from.
pub(crate) fn boot_disk_size(guest: &Guest) -> u64 {
    let main = &guest.config.main;
    if guest.kind == Kind::Lxc {
        let rootfs = main.get("rootfs").map(|value| Drive::parse(value));
        return rootfs.and_then(|drive| size::parse(drive.options.get("size")?)).unwrap_or(0);
    }
    let order = main.get("boot").and_then(|boot| boot.strip_prefix("order=")).unwrap_or_default();
    order
        .split(';')
        .filter_map(|device| main.get(device))
        .map(|value| Drive::parse(value))
        .filter(|drive| !drive.is_cdrom())
        .find_map(|drive| size::parse(drive.options.get("size")?))
        .unwrap_or(0)
}

/// What lists and `status/current` have in common.
fn row(shared: &Shared, guest: &Guest) -> Value {
    let running = guest.running.as_ref();
    let used = if running.is_some() { USED } else { 0 };
    let mut row = json!({"vmid": guest.vmid, "name": guest.name(),
        "status": if running.is_some() { "running" } else { "stopped" },
        "cpus": guest.cpus(), "cpu": 0, "maxmem": guest.memory() << 20, "mem": used,
        "maxdisk": boot_disk_size(guest), "disk": 0, "netin": 0, "netout": 0,
        "uptime": uptime(guest)});
    let old = shared.old();
    if !old {
        row["memhost"] = json!(used);
    }
    if old || running.is_some() {
        row["diskread"] = json!(0);
        row["diskwrite"] = json!(0);
    }
    for key in ["tags", "lock"] {
        if let Some(value) = guest.setting(key) {
            row[key] = json!(value);
        }
    }
    if guest.is_template() {
        row["template"] = json!(1);
    }
    if guest.config.main.keys().any(|key| is_slot(key, "serial")) {
        row["serial"] = json!(1);
    }
    if let Some(running) = running {
        row["pid"] = json!(running.pid);
        if !old {
            for kind in ["cpu", "io", "memory"] {
                for part in ["some", "full"] {
                    row[format!("pressure{kind}{part}")] = json!(0);
                }
            }
        }
    }
    row
}

/// The VMs of a node.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    Ok(state
        .guests
        .values()
        .filter(|guest| guest.kind == Kind::Qemu && guest.node == call.node())
        .filter(|guest| {
            permissions::allows(&state, &call.who, &format!("/vms/{}", guest.vmid), "VM.Audit")
        })
        .map(|guest| row(&call.shared, guest))
        .collect())
}

/// Zeros for a drive, under the names QEMU gives them.
fn block_statistics() -> Value {
    let mut row = json!({"account_failed": true, "account_invalid": true, "timed_stats": []});
    for kind in ["rd", "wr", "flush", "unmap", "zone_append"] {
        for what in ["total_time_ns", "bytes", "operations", "merged"] {
            if !(kind == "flush" && matches!(what, "bytes" | "merged")) {
                row[format!("{kind}_{what}")] = json!(0);
            }
        }
        row[format!("failed_{kind}_operations")] = json!(0);
        row[format!("invalid_{kind}_operations")] = json!(0);
    }
    row["wr_highest_offset"] = json!(0);
    row
}

/// One VM at this moment.
pub(crate) fn current(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let mut row = row(&call.shared, guest);
    let managed = state.cluster.ha.contains_key(&format!("vm:{}", guest.vmid));
    row["ha"] = json!({"managed": u8::from(managed)});
    if managed {
        row["ha"]["state"] = Value::Null;
    }
    row["qmpstatus"] = json!(match &guest.running {
        None => "stopped",
        Some(running) if running.paused => "paused",
        Some(_) => "running",
    });
    if guest.agent() {
        row["agent"] = json!(1);
    }
    if guest.setting("vga").is_some() {
        row["clipboard"] = Value::Null;
    }
    let Some(running) = &guest.running else { return Ok(row) };
    row["running-machine"] = json!(running.machine);
    row["running-qemu"] = json!("10.0.13");
    row["proxmox-support"] = if call.shared.old() {
        json!({})
    } else {
        json!({"pbs-dirty-bitmap": true, "pbs-masterkey": true, "query-bitmap-info": true,
            "pbs-library-version": "1.5.1"})
    };
    let nics: Vec<u32> = guest
        .config
        .main
        .keys()
        .filter(|key| is_slot(key, "net"))
        .map(|key| slot_number(key))
        .collect();
    for nic in nics {
        row["nics"][format!("tap{}i{nic}", guest.vmid)] = json!({"netin": 0, "netout": 0});
    }
    for (slot, drive) in drives(&guest.config.main) {
        let mut statistics = block_statistics();
        if drive.is_cdrom() {
            statistics["idle_time_ns"] = json!(0);
        }
        row["blockstat"][slot] = statistics;
    }
    Ok(row)
}
