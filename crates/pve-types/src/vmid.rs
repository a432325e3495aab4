//! A guest's number.

use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize};

use crate::ParseError;

/// A guest's number, 100 to 999999999.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Vmid(u32);

impl Vmid {
    /// The lowest number that PVE gives out.
    pub const MIN: u32 = 100;
    /// The highest number that PVE accepts.
    pub const MAX: u32 = 999_999_999;

    /// The vmid of this number, if it is one.
    ///
    /// # Errors
    /// When the number is out of range.
    pub fn new(number: u32) -> Result<Self, ParseError> {
        if (Self::MIN..=Self::MAX).contains(&number) {
            return Ok(Self(number));
        }
        Err(ParseError::new("a vmid", number.to_string(), "a number from 100 to 999999999"))
    }

    /// The number.
    #[must_use]
    pub fn get(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Vmid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for Vmid {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("a vmid", text, "a number from 100 to 999999999");
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        Self::new(text.parse().map_err(|_| wrong())?)
    }
}

impl<'de> Deserialize<'de> for Vmid {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        crate::lenient::text(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl JsonSchema for Vmid {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Vmid".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": "integer", "minimum": Self::MIN, "maximum": Self::MAX})
    }
}

/// What a VM is called in messages: `vm web (100)`.
#[must_use]
pub fn vm_label(name: Option<&str>, vmid: Option<Vmid>) -> String {
    match (name.filter(|name| !name.is_empty()), vmid) {
        (Some(name), Some(vmid)) => format!("vm {name} ({vmid})"),
        (Some(name), None) => format!("vm {name}"),
        (None, Some(vmid)) => format!("vm {vmid}"),
        (None, None) => "the vm".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_range_is_pves() {
        for (text, right) in [
            ("100", true),
            ("999999999", true),
            ("99", false),
            ("1000000000", false),
            ("99999999999999", false),
            ("+100", false),
            ("100.0", false),
            ("", false),
            ("web", false),
        ] {
            assert_eq!(text.parse::<Vmid>().is_ok(), right, "{text}");
        }
        let error = "99".parse::<Vmid>().unwrap_err().to_string();
        assert_eq!(error, "'99' is not a vmid: a number from 100 to 999999999");
    }

    #[test]
    fn a_number_in_quotes_is_a_vmid() {
        let vmids: Vec<Vmid> = serde_json::from_str(r#"[100, "101"]"#).unwrap();
        assert_eq!(serde_json::to_string(&vmids).unwrap(), "[100,101]");
    }
}
