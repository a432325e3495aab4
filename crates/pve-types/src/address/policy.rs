//! What a person may say about the choice.

use std::fmt;
use std::str::FromStr;

use ipnet::IpNet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::ParseError;
use crate::text::text_type;

/// What a person may say about the choice; nothing of it is needed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Policy {
    /// The NIC whose MAC decides, in place of the lowest-numbered one.
    pub net: Option<NetSlot>,
    /// The family that is taken if the interface has both.
    pub prefer: Family,
    /// If not empty, only addresses in one of these networks are taken.
    pub networks: Vec<IpNet>,
    /// Addresses in these networks are never taken.
    pub exclude: Vec<IpNet>,
}

/// The family of addresses that is taken first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// IPv4, else IPv6.
    #[default]
    Ipv4,
    /// IPv6, else IPv4.
    Ipv6,
}

/// A NIC's slot: `net0`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NetSlot(pub u8);

impl FromStr for NetSlot {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let index = text.strip_prefix("net").unwrap_or_default();
        let canonical = index == "0" || !index.starts_with(['0', '+']);
        match index.parse::<u8>() {
            Ok(index) if canonical && index < 32 => Ok(Self(index)),
            _ => Err(ParseError::new("a NIC", text, "net0 to net31")),
        }
    }
}

impl fmt::Display for NetSlot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "net{}", self.0)
    }
}

text_type!(NetSlot);
