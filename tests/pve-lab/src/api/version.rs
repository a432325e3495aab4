//! `/version`.

use serde_json::json;

use super::call::{Call, Route};
use super::error::ApiResult;

pub(crate) const ROUTES: &[Route] = &[("GET", "/version", version)];

/// What is served as which version.
pub(crate) fn version(call: Call) -> ApiResult {
    let (version, release, repoid) = if call.shared.old() {
        ("8.4.1", "8.4", "2a5fa54a8503f96d")
    } else {
        ("9.2.11", "9.2", "14a22df35955d97d")
    };
    Ok(json!({"version": version, "release": release, "repoid": repoid}))
}
