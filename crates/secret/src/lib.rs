//! A string that is never printed: not in Debug, not in Display, not in JSON.
//!
//! It is a crate of its own because both the modules' options and the API client hold secrets, and
//! neither of them may depend on the other.

use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize, Serializer};
use zeroize::Zeroizing;

/// What is printed in place of a secret, the words Ansible uses for a `no_log` value.
pub const MASK: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";

/// A secret value. Its memory is overwritten when it is dropped.
#[derive(Clone, Deserialize, PartialEq, Eq)]
#[serde(transparent)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a value.
    #[must_use]
    pub fn new(value: impl Into<String>) -> Self {
        Self(Zeroizing::new(value.into()))
    }

    /// The value itself, for the one place that sends it.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

impl Serialize for Secret {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(MASK)
    }
}

impl JsonSchema for Secret {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Secret".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "string", "x-no-log": true})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_way_of_printing_shows_the_value() {
        let secret = Secret::new("hunter2");
        for shown in [
            format!("{secret}"),
            format!("{secret:?}"),
            serde_json::to_string(&secret).unwrap(),
            format!("{:?}", Some(&secret)),
        ] {
            assert!(!shown.contains("hunter2"), "{shown}");
            assert!(shown.contains(MASK), "{shown}");
        }
        assert_eq!(secret.expose(), "hunter2");
    }
}
