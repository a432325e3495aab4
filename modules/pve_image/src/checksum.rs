//! Checksums of files: `sha256:...` and `sha512:...`.

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use sha2::{Digest, Sha256, Sha512};

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

/// Takes the checksum of what is written into it.
pub(crate) enum Summer {
    /// `sha256`.
    Sha256(Sha256),
    /// `sha512`.
    Sha512(Sha512),
}

impl Summer {
    /// One of this algorithm; SHA-256 unless it is `sha512`.
    pub(crate) fn new(algorithm: &str) -> Self {
        if algorithm == "sha512" {
            Self::Sha512(Sha512::new())
        } else {
            Self::Sha256(Sha256::new())
        }
    }

    /// Adds bytes.
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    /// The checksum of all.
    pub(crate) fn done(self) -> Checksum {
        let hex = |sum: &[u8]| sum.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sha256(hasher) => Checksum { algorithm: "sha256", hex: hex(&hasher.finalize()) },
            Self::Sha512(hasher) => Checksum { algorithm: "sha512", hex: hex(&hasher.finalize()) },
        }
    }
}

impl Write for Summer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
