//! Names of nodes and storages, and the two kinds of guests.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// A host in the cluster, by its short name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeName(String);

impl NodeName {
    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeName {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
        let bytes = text.as_bytes();
        if edge(bytes.first())
            && edge(bytes.last())
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-')
        {
            return Ok(Self(text.to_owned()));
        }
        Err(ParseError::new("a node", text, "the short name of a host: letters, digits and '-'"))
    }
}

impl fmt::Display for NodeName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_type!(NodeName);

/// A configured place for volumes, by its id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StorageId(String);

impl StorageId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for StorageId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let bytes = text.as_bytes();
        if bytes.len() >= 2
            && bytes[0].is_ascii_alphabetic()
            && bytes[bytes.len() - 1].is_ascii_alphanumeric()
            && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(byte))
        {
            return Ok(Self(text.to_owned()));
        }
        Err(ParseError::new(
            "a storage",
            text,
            "an id of at least two characters: a letter, then letters, digits, '-', '_' and '.'",
        ))
    }
}

impl fmt::Display for StorageId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_type!(StorageId);

/// A pool of guests and storages, by its id; one in another is `outer/inner`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PoolId(String);

impl PoolId {
    /// The id.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for PoolId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        let is_part = |part: &str| !part.is_empty() && part.bytes().all(plain);
        if text.split('/').count() <= 3 && text.split('/').all(is_part) {
            return Ok(Self(text.to_owned()));
        }
        Err(ParseError::new(
            "a pool",
            text,
            "an id of letters, digits, '-', '_' and '.', of one in another with '/' between them",
        ))
    }
}

impl fmt::Display for PoolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_type!(PoolId);

/// What kind of guest it is, which is also its word in API paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GuestKind {
    /// A virtual machine.
    Qemu,
    /// A container.
    Lxc,
}

impl GuestKind {
    /// The word in API paths: `qemu` or `lxc`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Qemu => "qemu",
            Self::Lxc => "lxc",
        }
    }

    /// The word in messages: `vm` or `ct`.
    #[must_use]
    pub fn noun(self) -> &'static str {
        match self {
            Self::Qemu => "vm",
            Self::Lxc => "ct",
        }
    }
}

impl FromStr for GuestKind {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        match text {
            "qemu" => Ok(Self::Qemu),
            "lxc" => Ok(Self::Lxc),
            _ => Err(ParseError::new("a kind of guest", text, "qemu or lxc")),
        }
    }
}

impl fmt::Display for GuestKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

text_type!(GuestKind);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_names() {
        for (text, right) in [
            ("pve1", true),
            ("a", true),
            ("pve-2", true),
            ("pve.lan", false),
            ("-a", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<NodeName>().is_ok(), right, "{text}");
        }
    }

    #[test]
    fn storage_ids() {
        for (text, right) in [
            ("local", true),
            ("local-lvm", true),
            ("data_1.x", true),
            ("l", false),
            ("1data", false),
            ("data-", false),
            ("lo cal", false),
        ] {
            assert_eq!(text.parse::<StorageId>().is_ok(), right, "{text}");
        }
    }
}
