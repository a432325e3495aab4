//! Checksums of files: `sha256:...` and `sha512:...`.

use std::fmt;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::str::FromStr;

use sha2::{Digest, Sha256, Sha512};
use thiserror::Error;

/// How a checksum is computed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Algorithm {
    /// SHA-256.
    Sha256,
    /// SHA-512.
    Sha512,
}

impl Algorithm {
    /// Its name as PVE has it: `sha256`, `sha512`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Sha256 => "sha256",
            Self::Sha512 => "sha512",
        }
    }

    /// How many hexadecimal digits its checksums have.
    #[must_use]
    pub fn digits(self) -> usize {
        match self {
            Self::Sha256 => 64,
            Self::Sha512 => 128,
        }
    }
}

/// A checksum with the name of its algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checksum {
    algorithm: Algorithm,
    hex: String,
}

/// Text that is no checksum.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{0}' is no checksum: sha256: and 64 hexadecimal digits, or sha512: and 128")]
pub struct NoChecksum(String);

/// How many digits of a checksum stand in a file's name: enough that nobody finds another file with
/// the same ones by chance.
pub(crate) const PREFIX: usize = 12;

impl Checksum {
    /// One of these digits, if there are as many as the algorithm has.
    #[must_use]
    pub fn of_digits(algorithm: Algorithm, hex: &str) -> Option<Self> {
        let fits =
            hex.len() == algorithm.digits() && hex.bytes().all(|byte| byte.is_ascii_hexdigit());
        fits.then(|| Self { algorithm, hex: hex.to_ascii_lowercase() })
    }

    /// That of a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of_file(path: &Path, algorithm: Algorithm) -> io::Result<Self> {
        let mut summer = Summer::new(algorithm);
        io::copy(&mut File::open(path)?, &mut summer)?;
        Ok(summer.done())
    }

    /// How it is computed.
    #[must_use]
    pub fn algorithm(&self) -> Algorithm {
        self.algorithm
    }

    /// The sum in hexadecimal.
    #[must_use]
    pub fn hex(&self) -> &str {
        &self.hex
    }

    /// The beginning of the sum that stands in names.
    #[must_use]
    pub fn prefix(&self) -> &str {
        &self.hex[..PREFIX]
    }
}

impl FromStr for Checksum {
    type Err = NoChecksum;

    fn from_str(text: &str) -> Result<Self, NoChecksum> {
        let found = match text.trim().split_once(':') {
            Some(("sha256", hex)) => Self::of_digits(Algorithm::Sha256, hex),
            Some(("sha512", hex)) => Self::of_digits(Algorithm::Sha512, hex),
            _ => None,
        };
        found.ok_or_else(|| NoChecksum(text.to_owned()))
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm.word(), self.hex)
    }
}

/// Takes the checksum of what is written into it.
#[derive(Debug, Clone)]
pub enum Summer {
    /// SHA-256.
    Sha256(Sha256),
    /// SHA-512.
    Sha512(Sha512),
}

impl Summer {
    /// One that has seen nothing yet.
    #[must_use]
    pub fn new(algorithm: Algorithm) -> Self {
        match algorithm {
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    /// The checksum of all.
    #[must_use]
    pub fn done(self) -> Checksum {
        match self {
            Self::Sha256(hasher) => {
                Checksum { algorithm: Algorithm::Sha256, hex: hex(&hasher.finalize()) }
            }
            Self::Sha512(hasher) => {
                Checksum { algorithm: Algorithm::Sha512, hex: hex(&hasher.finalize()) }
            }
        }
    }
}

/// Bytes in hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_read_and_written() {
        let empty = "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
        assert_eq!(Summer::new(Algorithm::Sha256).done().to_string(), empty);
        let file = tempfile::NamedTempFile::new().unwrap();
        let sum = Checksum::of_file(file.path(), Algorithm::Sha256).unwrap();
        assert_eq!(sum.to_string(), empty);
        assert_eq!(empty.to_ascii_lowercase().parse::<Checksum>().unwrap().to_string(), empty);
        let long: Checksum = format!("sha512:{}", "AB".repeat(64)).parse().unwrap();
        assert_eq!((long.algorithm().word(), long.prefix()), ("sha512", "abababababab"));
        for text in [
            "",
            "sha256:",
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            &empty[7..],
            &empty[..70],
            &format!("sha512:{}", &empty[7..]),
            &format!("sha256:{}", "é".repeat(32)),
        ] {
            let error = text.parse::<Checksum>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' is no checksum")), "{error}");
        }
    }
}
