//! `/storage`: the storages of the cluster.

use serde_json::{Value, json};

use super::call::{Call, NOTHING, Route};
use super::error::{ApiError, ApiResult};
use crate::state::storage::Storage;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/storage", list),
    ("POST", "/storage", create),
    ("GET", "/storage/{storage}", get),
    ("PUT", "/storage/{storage}", update),
    ("DELETE", "/storage/{storage}", delete),
];

fn row(storage: &Storage) -> Value {
    let mut row = json!({"storage": storage.id, "type": "dir", "path": storage.path,
        "content": storage.content.join(","), "digest": crate::state::config::sha1_hex(&storage.id)});
    if storage.disabled {
        row["disable"] = json!(1);
    }
    if storage.shared {
        row["shared"] = json!(1);
    }
    if !storage.nodes.is_empty() {
        row["nodes"] = json!(storage.nodes.join(","));
    }
    row
}

fn list(call: Call) -> ApiResult {
    let state = call.state();
    let sees = |id: &str| {
        let path = format!("/storage/{id}");
        ["Datastore.Audit", "Datastore.AllocateSpace"]
            .iter()
            .any(|privilege| super::permissions::allows(&state, &call.who, &path, privilege))
    };
    Ok(state.cluster.storages.values().filter(|storage| sees(&storage.id)).map(row).collect())
}

fn get(call: Call) -> ApiResult {
    let state = call.state();
    state.storage(call.params.text("storage")).map(row).map_err(ApiError::internal)
}

fn apply(storage: &mut Storage, call: &Call) {
    if call.params.get("content").is_some() {
        storage.content = call.params.list("content");
    }
    if call.params.get("nodes").is_some() {
        storage.nodes = call.params.list("nodes");
    }
    if call.params.get("disable").is_some() {
        storage.disabled = call.params.flag("disable");
    }
    if call.params.get("shared").is_some() {
        storage.shared = call.params.flag("shared");
    }
}

fn create(call: Call) -> ApiResult {
    let id = call.params.text("storage").to_owned();
    if call.params.text("type") != "dir" {
        return Err(ApiError::internal(
            "create storage failed: the lab has only storages of type 'dir'",
        ));
    }
    let mut state = call.state();
    if state.cluster.storages.contains_key(&id) {
        return Err(ApiError::internal(format!(
            "create storage failed: storage ID '{id}' already defined"
        )));
    }
    let mut storage = Storage {
        root: state.dir.join("storage").join(&id),
        path: call.params.text("path").to_owned(),
        content: vec!["images".to_owned(), "rootdir".to_owned()],
        id: id.clone(),
        disabled: false,
        shared: false,
        nodes: Vec::new(),
        free: None,
    };
    apply(&mut storage, &call);
    state.cluster.storages.insert(id.clone(), storage);
    state.save_cluster();
    Ok(json!({"storage": id, "type": "dir"}))
}

fn update(call: Call) -> ApiResult {
    let id = call.params.text("storage").to_owned();
    let mut state = call.state();
    let storage = state.cluster.storages.get_mut(&id).ok_or_else(|| {
        ApiError::internal(format!("update storage failed: storage '{id}' does not exist"))
    })?;
    apply(storage, &call);
    state.save_cluster();
    Ok(json!({"storage": id, "type": "dir"}))
}

fn delete(call: Call) -> ApiResult {
    let id = call.params.text("storage").to_owned();
    let mut state = call.state();
    if state.cluster.storages.shift_remove(&id).is_none() {
        return Err(ApiError::internal(format!(
            "delete storage failed: storage '{id}' does not exist"
        )));
    }
    state.save_cluster();
    NOTHING
}
