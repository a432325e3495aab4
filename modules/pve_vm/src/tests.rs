//! What the tests of several files need.

use serde_json::{Value, json};

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
