//! `/cluster`.

mod ha;
pub(crate) mod resources;

use serde_json::{Value, json};

use super::call::{Call, Route};
use super::error::{ApiError, ApiResult};
use crate::state::Kind;
use crate::state::tasks::Task;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/cluster/resources", resources::list),
    ("GET", "/cluster/nextid", next_id),
    ("GET", "/cluster/status", status),
    ("GET", "/cluster/tasks", tasks),
    ("GET", "/cluster/options", options),
    ("GET", "/cluster/config/nodes", config_nodes),
    ("GET", "/cluster/ha/resources", ha::list),
    ("POST", "/cluster/ha/resources", ha::create),
    ("GET", "/cluster/ha/resources/{sid}", ha::get),
    ("DELETE", "/cluster/ha/resources/{sid}", ha::delete),
];

fn next_id(call: Call) -> ApiResult {
    let state = call.state();
    match call.params.number("vmid").and_then(|id| u32::try_from(id).ok()) {
        None => Ok(json!(state.next_id().to_string())),
        Some(id) => match state.guests.get(&id) {
            None => Ok(json!(id.to_string())),
            Some(guest) => {
                let kind = if guest.kind == Kind::Qemu { "VM" } else { "CT" };
                Err(ApiError::param("vmid", format!("{kind} {id} already exists")))
            }
        },
    }
}

fn status(call: Call) -> ApiResult {
    let state = call.state();
    let several = state.cluster.nodes.len() > 1;
    let mut rows: Vec<Value> = Vec::new();
    if several {
        rows.push(json!({"type": "cluster", "id": "cluster", "name": "lab", "version": 3,
            "nodes": state.cluster.nodes.len(), "quorate": 1}));
    }
    for (index, node) in state.cluster.nodes.values().enumerate() {
        rows.push(json!({"type": "node", "id": format!("node/{}", node.name), "name": node.name,
            "ip": node.address, "level": "", "local": u8::from(index == 0),
            "nodeid": index + usize::from(several), "online": u8::from(!node.offline)}));
    }
    Ok(json!(rows))
}

/// A task as lists show it.
pub(crate) fn task_row(task: &Task) -> Value {
    let mut row = json!({"upid": task.upid, "node": task.node, "type": task.kind, "id": task.id,
        "user": task.user, "starttime": task.starttime});
    if let Some(token) = &task.token {
        row["tokenid"] = json!(token);
    }
    if let Some(end) = task.endtime {
        row["endtime"] = json!(end);
    }
    if let Some(status) = &task.exitstatus {
        row["status"] = json!(status);
    }
    row
}

fn tasks(call: Call) -> ApiResult {
    let audits = call.allows("/", "Sys.Audit");
    let state = call.state();
    Ok(state
        .tasks
        .list
        .iter()
        .rev()
        .filter(|task| audits || task.user == call.who.user)
        .take(50)
        .map(|task| {
            let mut row = task_row(task);
            if task.endtime.is_some() {
                row["saved"] = json!("1");
            }
            row
        })
        .collect())
}

fn options(call: Call) -> ApiResult {
    let tags = call.state().tags();
    Ok(json!({"allowed-tags": tags, "description": "", "mac_prefix": "BC:24:11"}))
}

fn config_nodes(call: Call) -> ApiResult {
    let state = call.state();
    if state.cluster.nodes.len() < 2 {
        return Ok(json!([]));
    }
    Ok(state
        .cluster
        .nodes
        .values()
        .enumerate()
        .map(|(index, node)| {
            json!({"node": node.name, "name": node.name, "nodeid": (index + 1).to_string(),
                "quorum_votes": "1", "ring0_addr": node.address})
        })
        .collect())
}
