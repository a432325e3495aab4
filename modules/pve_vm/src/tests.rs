//! What the tests of several files need.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::found::Guest;
use crate::params::Params;

/// Parameters with a connection that is never used.
pub(crate) fn params(args: &Value) -> Params {
    let mut all = json!({
        "api_host": "pve1",
        "api_token_id": "ansible@pve!ci",
        "api_token_secret": "s",
        "name": "web",
        "node": "pve1",
    });
    if let (Value::Object(all), Value::Object(args)) = (&mut all, args) {
        all.extend(args.clone());
    }
    serde_json::from_value(all).unwrap()
}

/// A machine with this configuration, stopped.
pub(crate) fn guest(config: &Value) -> Guest {
    let mut map: BTreeMap<String, String> = serde_json::from_value(json!({"name": "web"})).unwrap();
    let more: BTreeMap<String, String> = serde_json::from_value(config.clone()).unwrap();
    map.extend(more);
    Guest {
        vmid: "100".parse().unwrap(),
        node: "pve1".parse().unwrap(),
        running_config: map.clone(),
        config: map,
        pending: BTreeMap::new(),
        digest: Some("b9d5c7c6f1e0a2d3b4c5d6e7f8091a2b3c4d5e6f".parse().unwrap()),
        running: false,
        status: "stopped".into(),
        lock: None,
        ha_managed: false,
    }
}
