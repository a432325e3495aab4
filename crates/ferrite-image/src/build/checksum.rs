//! Checksums of files: `sha256:...` and `sha512:...`.

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use sha2::{Digest, Sha256, Sha512};

/// A checksum with the name of its algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Checksum {
    algorithm: &'static str,
    hex: String,
}

impl FromStr for Checksum {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let (algorithm, digits) = match text.trim().split_once(':') {
            Some(("sha256", hex)) if hex.len() == 64 => ("sha256", hex),
            Some(("sha512", hex)) if hex.len() == 128 => ("sha512", hex),
            _ => ("", ""),
        };
        if algorithm.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            bail!("'{text}' is no checksum: sha256: and 64 hexadecimal digits, or sha512: and 128");
        }
        Ok(Self { algorithm, hex: digits.to_ascii_lowercase() })
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.algorithm, self.hex)
    }
}

/// Takes the checksum of what is added to it.
pub(super) enum Summer {
    Sha256(Sha256),
    Sha512(Sha512),
}

impl Summer {
    /// One of the algorithm of another checksum.
    pub(super) fn like(other: &Checksum) -> Self {
        match other.algorithm {
            "sha512" => Self::Sha512(Sha512::new()),
            _ => Self::sha256(),
        }
    }

    pub(super) fn sha256() -> Self {
        Self::Sha256(Sha256::new())
    }

    pub(super) fn add(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hasher) => hasher.update(bytes),
            Self::Sha512(hasher) => hasher.update(bytes),
        }
    }

    pub(super) fn done(self) -> Checksum {
        let hex = |sum: &[u8]| sum.iter().map(|byte| format!("{byte:02x}")).collect();
        match self {
            Self::Sha256(hasher) => Checksum { algorithm: "sha256", hex: hex(&hasher.finalize()) },
            Self::Sha512(hasher) => Checksum { algorithm: "sha512", hex: hex(&hasher.finalize()) },
        }
    }
}

/// The checksum of a file.
pub(super) fn of_file(path: &Path, mut summer: Summer) -> Result<Checksum> {
    let mut file = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    let mut piece = vec![0; 1 << 20];
    loop {
        let read =
            file.read(&mut piece).with_context(|| format!("cannot read {}", path.display()))?;
        if read == 0 {
            return Ok(summer.done());
        }
        summer.add(&piece[..read]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_tools() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "abc").unwrap();
        let sum = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(of_file(file.path(), Summer::sha256()).unwrap().to_string(), sum);
        let upper: Checksum = sum.to_uppercase().replace("SHA256", "sha256").parse().unwrap();
        assert_eq!(upper.to_string(), sum);
    }
}
