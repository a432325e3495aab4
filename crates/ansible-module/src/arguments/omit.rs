//! Leaves out what Ansible meant to leave out: up to 2.18 an `omit` inside a list arrives as text.

use serde_json::{Map, Value};

const PLACEHOLDER: &str = "__omit_place_holder__";

/// Removes placeholders at any depth.
pub(crate) fn drop_omitted(arguments: &mut Map<String, Value>) {
    arguments.retain(|_, value| keep(value));
}

fn keep(value: &mut Value) -> bool {
    match value {
        Value::String(text) => !text.starts_with(PLACEHOLDER),
        Value::Array(items) => {
            items.retain_mut(keep);
            true
        }
        Value::Object(entries) => {
            entries.retain(|_, value| keep(value));
            true
        }
        _ => true,
    }
}
