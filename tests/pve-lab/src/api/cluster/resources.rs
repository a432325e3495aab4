//! `/cluster/resources`: what the statistics know, which lags behind the truth.

use serde_json::{Value, json};

use super::super::call::Call;
use super::super::error::ApiResult;
use super::super::nodes::{qemu, status};
use crate::shared::Shared;
use crate::state::{Guest, Kind, State};

/// A guest's row. One that the statistics do not know yet has no name.
pub(crate) fn guest_row(shared: &Shared, state: &State, guest: &Guest) -> Value {
    let kind = guest.kind.as_str();
    let mut row = json!({"id": format!("{kind}/{}", guest.vmid), "type": kind, "node": guest.node,
        "vmid": guest.vmid});
    let unreachable = state.cluster.nodes.get(&guest.node).is_some_and(|node| node.offline);
    if let Some(pool) = state.pool_of(guest.vmid) {
        row["pool"] = json!(pool);
    }
    if guest.known_from > shared.age() || unreachable {
        row["status"] = json!("unknown");
        return row;
    }
    let running = guest.running.is_some();
    let memory = guest.memory() << 20;
    let used = if running { 40 << 20 } else { 0 };
    row["name"] = json!(guest.name());
    row["status"] = json!(if running { "running" } else { "stopped" });
    row["template"] = json!(u8::from(guest.is_template()));
    row["maxcpu"] = json!(guest.cpus());
    row["maxmem"] = json!(memory);
    row["mem"] = json!(used);
    row["maxdisk"] = json!(qemu::status::boot_disk_size(guest));
    row["uptime"] = json!(qemu::status::uptime(guest));
    for key in ["cpu", "disk", "diskread", "diskwrite", "netin", "netout"] {
        row[key] = json!(0);
    }
    if !shared.old() {
        row["memhost"] = json!(if guest.kind == Kind::Qemu { used } else { 0 });
    }
    for key in ["tags", "lock"] {
        if let Some(value) = guest.setting(key) {
            row[key] = json!(value);
        }
    }
    row
}

/// All rows the caller may see.
pub(crate) fn list(call: Call) -> ApiResult {
    let wanted = call.params.get("type");
    let wants = |kind: &str| wanted.is_none_or(|wanted| wanted == kind);
    let state = call.state();
    let sees = |path: &str, privilege: &str| {
        super::super::permissions::allows(&state, &call.who, path, privilege)
    };
    let mut rows = Vec::new();
    if wants("vm") {
        rows.extend(
            state
                .guests
                .values()
                .filter(|guest| sees(&format!("/vms/{}", guest.vmid), "VM.Audit"))
                .map(|guest| guest_row(&call.shared, &state, guest)),
        );
    }
    if wants("node") {
        rows.extend(state.cluster.nodes.values().map(|node| {
            status::resource_row(node, sees(&format!("/nodes/{}", node.name), "Sys.Audit"))
        }));
    }
    if wants("storage") {
        for storage in state.cluster.storages.values() {
            if !sees(&format!("/storage/{}", storage.id), "Datastore.Audit") {
                continue;
            }
            for node in state.cluster.nodes.values().filter(|node| storage.on(&node.name)) {
                rows.push(json!({"id": format!("storage/{}/{}", node.name, storage.id),
                    "type": "storage", "node": node.name, "storage": storage.id,
                    "plugintype": "dir", "shared": u8::from(storage.shared), "status": "available",
                    "content": storage.content.join(","), "disk": status::USED,
                    "maxdisk": status::TOTAL}));
            }
        }
    }
    if wanted.is_none() && sees("/sdn/zones/localnetwork", "SDN.Audit") {
        for node in state.cluster.nodes.values() {
            rows.push(if call.shared.old() {
                json!({"id": format!("sdn/{}/localnetwork", node.name), "type": "sdn",
                    "node": node.name, "sdn": "localnetwork", "status": "ok"})
            } else {
                json!({"id": format!("network/{}/zone/localnetwork", node.name), "type": "network",
                    "node": node.name, "network": "localnetwork", "network-type": "zone",
                    "status": "ok"})
            });
        }
    }
    Ok(json!(rows))
}
