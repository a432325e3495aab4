//! `firewall`: rules are kept and listed, and have no effect.

use std::collections::BTreeMap;

use serde_json::json;

use super::super::super::call::{Call, NOTHING};
use super::super::super::error::ApiResult;
use super::super::super::params::Param;
use crate::state::config::sha1_hex;

/// The firewall's options: none are set.
pub(crate) fn options(call: Call) -> ApiResult {
    call.vm_exists()?;
    Ok(json!({"digest": sha1_hex("")}))
}

/// All rules in their order.
pub(crate) fn list(call: Call) -> ApiResult {
    call.vm_exists()?;
    let state = call.state();
    let rules = state.cluster.rules.get(&call.vmid());
    Ok(rules
        .into_iter()
        .flatten()
        .enumerate()
        .map(|(position, rule)| {
            let mut row = json!({"pos": position, "digest": sha1_hex(&format!("{rule:?}"))});
            for (key, value) in rule {
                row[key] = value
                    .parse::<u64>()
                    .ok()
                    .filter(|_| key == "enable")
                    .map_or_else(|| json!(value), |number| json!(number));
            }
            row
        })
        .collect())
}

/// A new rule, before all others.
pub(crate) fn add(call: Call) -> ApiResult {
    call.vm_exists()?;
    let rule: BTreeMap<String, String> = call
        .params
        .0
        .iter()
        .filter(|(key, _)| !matches!(key.as_str(), "node" | "vmid" | "pos" | "digest"))
        .filter_map(|(key, value)| match value {
            Param::One(text) => Some((key.clone(), text.clone())),
            _ => None,
        })
        .collect();
    let mut state = call.state();
    state.cluster.rules.entry(call.vmid()).or_default().insert(0, rule);
    state.save_cluster();
    NOTHING
}
