//! `/cluster/ha/resources`: which guests are managed, without a manager.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::call::{Call, NOTHING};
use super::super::error::{ApiError, ApiResult};
use crate::state::config::sha1_hex;

fn sid(text: &str) -> String {
    if text.contains(':') { text.to_owned() } else { format!("vm:{text}") }
}

fn row(sid: &str, fields: &BTreeMap<String, String>) -> Value {
    let kind = sid.split(':').next().unwrap_or_default();
    let mut row = json!({"sid": sid, "type": kind, "digest": sha1_hex(sid)});
    for (key, value) in fields {
        row[key] = value.parse::<u64>().map_or_else(|_| json!(value), |number| json!(number));
    }
    row
}

/// All managed guests.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    Ok(state.cluster.ha.iter().map(|(sid, fields)| row(sid, fields)).collect())
}

/// One of them.
pub(crate) fn get(call: Call) -> ApiResult {
    let sid = sid(call.params.text("sid"));
    let state = call.state();
    let fields = state
        .cluster
        .ha
        .get(&sid)
        .ok_or_else(|| ApiError::internal(format!("no such resource '{sid}'")))?;
    Ok(row(&sid, fields))
}

/// Puts a guest under management.
pub(crate) fn create(call: Call) -> ApiResult {
    let sid = sid(call.params.text("sid"));
    let mut state = call.state();
    if state.cluster.ha.contains_key(&sid) {
        return Err(ApiError::internal(format!("resource ID '{sid}' already defined")));
    }
    let known = sid
        .split(':')
        .nth(1)
        .and_then(|id| id.parse().ok())
        .is_some_and(|id: u32| state.guests.contains_key(&id));
    if !known {
        return Err(ApiError::internal(format!(
            "unable to add resource - VM {} does not exist",
            sid.split(':').nth(1).unwrap_or_default()
        )));
    }
    let fields = ["state", "group", "comment", "max_restart", "max_relocate"]
        .iter()
        .filter_map(|key| call.params.get(key).map(|v| ((*key).to_owned(), v.to_owned())))
        .collect();
    state.cluster.ha.insert(sid, fields);
    state.save_cluster();
    NOTHING
}

/// Takes a guest out of management.
pub(crate) fn delete(call: Call) -> ApiResult {
    let sid = sid(call.params.text("sid"));
    let mut state = call.state();
    if state.cluster.ha.remove(&sid).is_none() {
        return Err(ApiError::internal(format!("cannot delete service '{sid}', not HA managed!")));
    }
    state.save_cluster();
    NOTHING
}
