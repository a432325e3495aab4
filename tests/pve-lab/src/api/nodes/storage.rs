//! `/nodes/{node}/storage`: the storages that a node has.

use serde_json::{Value, json};

use super::super::call::{Call, Route};
use super::super::error::{ApiError, ApiResult};
use super::status::{FREE, TOTAL, USED};
use crate::state::storage::Storage;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/storage", list),
    ("GET", "/nodes/{node}/storage/{storage}/status", status),
];

fn row(storage: &Storage) -> Value {
    let avail = storage.free.unwrap_or(FREE);
    json!({"type": "dir", "content": storage.content.join(","),
        "shared": u8::from(storage.shared), "enabled": u8::from(!storage.disabled),
        "active": u8::from(!storage.disabled), "total": TOTAL, "used": USED, "avail": avail})
}

fn list(call: Call) -> ApiResult {
    let storages: Vec<Storage> = call.state().cluster.storages.values().cloned().collect();
    let content = call.params.get("content");
    let only = call.params.get("storage");
    Ok(storages
        .iter()
        .filter(|storage| storage.on(call.node()))
        .filter(|storage| content.is_none_or(|content| storage.holds(content)))
        .filter(|storage| only.is_none_or(|only| storage.id == only))
        .filter(|storage| !call.params.flag("enabled") || !storage.disabled)
        .filter(|storage| {
            let path = format!("/storage/{}", storage.id);
            call.allows(&path, "Datastore.Audit") || call.allows(&path, "Datastore.AllocateSpace")
        })
        .map(|storage| {
            let mut row = row(storage);
            row["storage"] = json!(storage.id);
            row["used_fraction"] = json!(0.086_183_310_222_858_7);
            row
        })
        .collect())
}

fn status(call: Call) -> ApiResult {
    let state = call.state();
    state.storage(call.params.text("storage")).map(row).map_err(ApiError::internal)
}
