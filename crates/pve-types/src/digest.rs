//! The hash of a configuration, sent back to refuse a lost update.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// A SHA-1 of a configuration file in hexadecimal, as PVE gives it with the configuration.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConfigDigest(String);

impl ConfigDigest {
    /// The digest as PVE wrote it.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for ConfigDigest {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // PVE accepts 64 as well: some of its configurations use SHA-256.
        if matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Ok(Self(text.to_owned()));
        }
        Err(ParseError::new("a digest", text, "40 or 64 hexadecimal digits"))
    }
}

impl fmt::Display for ConfigDigest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_type!(ConfigDigest);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_hash_is_a_digest() {
        let sha1 = "b9d5c7c6f1e0a2d3b4c5d6e7f8091a2b3c4d5e6f";
        assert_eq!(sha1.parse::<ConfigDigest>().unwrap().to_string(), sha1);
        for text in ["", "abc", "zz", &sha1[1..]] {
            assert!(text.parse::<ConfigDigest>().is_err(), "{text}");
        }
    }
}
