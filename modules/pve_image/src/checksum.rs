//! Checksums of files: `sha256:...` and `sha512:...`.

use std::fmt;
use std::str::FromStr;

/// A checksum with the name of its algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Checksum {
    algorithm: &'static str,
    hex: String,
}

impl Checksum {
    /// `sha256` or `sha512`, as PVE calls it.
    pub(crate) fn algorithm(&self) -> &'static str {
        self.algorithm
    }

    /// The sum in hexadecimal.
    pub(crate) fn hex(&self) -> &str {
        &self.hex
    }
}

impl FromStr for Checksum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (algorithm, digits) = match text.trim().split_once(':') {
            Some(("sha256", hex)) if hex.len() == 64 => ("sha256", hex),
            Some(("sha512", hex)) if hex.len() == 128 => ("sha512", hex),
            _ => ("", ""),
        };
        if algorithm.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(format!(
                "'{text}' is no checksum: sha256: and 64 hexadecimal digits, or sha512: and 128"
            ));
        }
        Ok(Self { algorithm, hex: digits.to_ascii_lowercase() })
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex)
    }
}
