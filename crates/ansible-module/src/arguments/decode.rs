//! From validated options to the module's own type. What only the type knows, the form of an address
//! or a name, is refused here; the message names the option.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Failure;

/// The module's options.
pub(crate) fn decode<P: DeserializeOwned>(options: Map<String, Value>) -> Result<P, Failure> {
    let attempt = |options: Map<String, Value>| {
        serde_path_to_error::deserialize(Value::Object(options)).map_err(|error| {
            let path = error.path().to_string();
            (path, error.into_inner().to_string())
        })
    };
    attempt(options.clone()).map_err(|(path, reason)| {
        let retry = |options| attempt(options).map(|_: P| ()).map_err(|(_, reason)| reason);
        // a flattened part is read from a copy, where the path is lost
        let path = if path == "." || path.contains('?') {
            blame(&options, &reason, &retry)
        } else {
            Some(path)
        };
        Failure::new(match path {
            Some(path) => format!("value of {path} is not valid: {reason}"),
            None => format!("options are not valid: {reason}"),
        })
    })
}

/// The option without which the reason is another one.
fn blame(
    options: &Map<String, Value>,
    reason: &str,
    retry: &dyn Fn(Map<String, Value>) -> Result<(), String>,
) -> Option<String> {
    let mut second = None;
    for name in options.keys() {
        let mut without = options.clone();
        without.remove(name);
        match retry(without) {
            Ok(()) => return Some(name.clone()),
            Err(other) if other == reason => {}
            // only says that the option is needed, which is true of more than the culprit
            Err(other) if other.contains(&format!("missing field `{name}`")) => {
                second = second.or_else(|| Some(name.clone()));
            }
            Err(_) => return Some(name.clone()),
        }
    }
    second
}
