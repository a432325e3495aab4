//! Keys that mean something to Ansible. A key that a guest or an operator chose must not be one of
//! them: `__ansible_type` makes 2.19 refuse the whole result, `ansible_facts` sets variables.

use serde_json::{Map, Value};

/// Keys at the top of a result that the runner or Ansible itself gives a meaning.
const RESERVED: [&str; 16] = [
    "ansible_facts",
    "ansible_stats",
    "add_host",
    "add_group",
    "changed",
    "deprecations",
    "diff",
    "done",
    "exception",
    "failed",
    "invocation",
    "left",
    "plan",
    "results",
    "skipped",
    "warnings",
];

/// Whether a key at the top of a result is not a module's to set.
pub(crate) fn is_reserved(key: &str) -> bool {
    RESERVED.contains(&key) || is_internal(key)
}

/// A module's own values, those under reserved names moved out of the way.
pub(crate) fn guard_returned(returned: Map<String, Value>) -> Map<String, Value> {
    let free = |key: String| match is_reserved(&key) || key == "msg" || key == "rc" {
        true => format!("returned_{key}"),
        false => key,
    };
    returned.into_iter().map(|(key, value)| (free(key), value)).collect()
}

/// Renames internal keys at any depth.
pub(crate) fn guard_keys(result: Map<String, Value>) -> Map<String, Value> {
    result
        .into_iter()
        .map(|(key, value)| {
            let key = if is_internal(&key) { format!("x{key}") } else { key };
            (key, guard_value(value))
        })
        .collect()
}

fn guard_value(value: Value) -> Value {
    match value {
        Value::Object(entries) => Value::Object(guard_keys(entries)),
        Value::Array(items) => items.into_iter().map(guard_value).collect(),
        other => other,
    }
}

fn is_internal(key: &str) -> bool {
    key.starts_with("_ansible_") || key.starts_with("__ansible_")
}
