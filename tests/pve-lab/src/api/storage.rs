//! `/storage`: the storages of the cluster.

use serde_json::{Value, json};

use super::call::{Call, NOTHING, Route};
use super::error::{ApiError, ApiResult};
use crate::state::State;
use crate::state::config::sha1_hex;
use crate::state::storage::Storage;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/storage", list),
    ("POST", "/storage", create),
    ("GET", "/storage/{storage}", get),
    ("PUT", "/storage/{storage}", update),
    ("DELETE", "/storage/{storage}", delete),
];

/// The digest of the configuration, which is one file for all storages.
fn digest(state: &State) -> String {
    let file: Vec<String> = state
        .cluster
        .storages
        .values()
        .map(|storage| {
            let Storage { id, path, content, disabled, shared, nodes, .. } = storage;
            format!("{id} {path} {content:?} {disabled} {shared} {nodes:?}\n")
        })
        .collect();
    sha1_hex(&file.concat())
}

fn row(state: &State, storage: &Storage) -> Value {
    let mut row = json!({"storage": storage.id, "type": "dir", "path": storage.path,
        "content": storage.content.join(","), "digest": digest(state)});
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
    let seen = state.cluster.storages.values().filter(|storage| sees(&storage.id));
    Ok(seen.map(|storage| row(&state, storage)).collect())
}

fn get(call: Call) -> ApiResult {
    let state = call.state();
    let storage = state.storage(call.params.text("storage")).map_err(ApiError::internal)?;
    Ok(row(&state, storage))
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
        separate: false,
        corner: None,
    };
    apply(&mut storage, &call);
    state.cluster.storages.insert(id.clone(), storage);
    state.save_cluster();
    Ok(json!({"storage": id, "type": "dir"}))
}

fn update(call: Call) -> ApiResult {
    let id = call.params.text("storage").to_owned();
    let mut state = call.state();
    if call.params.get("digest").is_some_and(|read| read != digest(&state)) {
        return Err(ApiError::internal(
            "update storage failed: detected modified configuration - file changed by other user? \
             Try again.",
        ));
    }
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
