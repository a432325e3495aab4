//! `/nodes/{node}/qemu/{vmid}/pending`.

use serde_json::json;

use super::super::super::call::Call;
use super::super::super::error::{ApiError, ApiResult};
use super::values::shown;

/// Each setting with its value in force and what waits for the next stop and start.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let config = &guest.config;
    let schema = &call.shared.schema;
    let mut rows = vec![json!({"key": "digest", "value": config.digest()})];
    for (key, value) in &config.main {
        let mut row = json!({"key": key, "value": shown(schema, key, value)});
        if let Some(pending) = config.pending.get(key) {
            row["pending"] = shown(schema, key, pending);
        }
        if config.deletes.contains(key) {
            row["delete"] = json!(1);
        }
        rows.push(row);
    }
    for (key, value) in config.pending.iter().filter(|(key, _)| !config.main.contains_key(*key)) {
        rows.push(json!({"key": key, "pending": shown(schema, key, value)}));
    }
    Ok(json!(rows))
}
