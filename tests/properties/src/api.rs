use pve_client::{GuestConfig, GuestStatus, Resource};
use pve_types::{Parsed, Setting, Upid, VolId, parsed};
use serde_json::Value;

/// The `data` of an answer: read as each of the things that it may be. What was read of a configuration
/// is what stands there.
pub fn api(data: &[u8]) {
    if let Ok(text) = std::str::from_utf8(data) {
        if let Ok(upid) = text.parse::<Upid>() {
            assert_eq!(upid.to_string(), text);
        }
        if let Ok(volid) = text.parse::<VolId>() {
            assert_eq!(volid.to_string(), text);
        }
    }
    let Ok(value) = serde_json::from_slice::<Value>(data) else { return };
    let _ = serde_json::from_value::<Vec<Resource>>(value.clone());
    let _ = serde_json::from_value::<GuestStatus>(value.clone());
    let Ok(config) = serde_json::from_value::<GuestConfig>(value.clone()) else { return };
    for (key, text) in config.iter() {
        if let Value::String(given) = &value[key] {
            assert_eq!(text, given, "{key}");
        }
    }
    for (key, parsed) in parsed(config.as_map()) {
        let Parsed::Text(text) = parsed else { continue };
        if matches!(Setting::of(&key), Setting::Secret) {
            assert!(config.get(&key) != Some(&text), "{key} is shown");
        } else {
            assert!(config.iter().any(|(_, value)| *value == text), "{key} is {text:?} nowhere");
        }
    }
}
