//! Signatures of files of checksums, checked by `gpgv` with the publisher's keyring.
//!
//! `gpgv` trusts the keys of the keyring it is given and no others, and is there wherever apt is.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use thiserror::Error;

/// Where packages put the key that Ubuntu's cloud images are signed with.
const KEYRINGS: [&str; 2] = [
    "/usr/share/keyrings/ubuntu-cloudimage-keyring.gpg",
    "/etc/apt/trusted.gpg.d/ubuntu-keyring-2012-cdimage.gpg",
];

/// How signatures are checked.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Signatures {
    /// With the keyring that a package of the system brings.
    #[default]
    System,
    /// With this keyring.
    Keyring(PathBuf),
    /// Not at all: whoever asks relies on the protection of the connection.
    Unchecked,
}

/// Why a signature is not good.
#[derive(Debug, Error)]
pub enum SignatureError {
    /// There is no keyring.
    #[error(
        "there is no keyring to check the signature with: install ubuntu-cloudimage-keyring (or \
         ubuntu-keyring), give another one as --keyring, or rely on https alone with --unsigned"
    )]
    NoKeyring,
    /// The keyring cannot be read.
    #[error("keyring {path}: {source}")]
    Keyring {
        /// The keyring.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// `gpgv` cannot be run.
    #[error("gpgv cannot be run, which checks signatures (package gpgv): {0}")]
    Program(io::Error),
    /// The signature is not one of these keys' on this text.
    #[error("its signature is not good by keyring {keyring}: {said}")]
    Bad {
        /// The keyring.
        keyring: PathBuf,
        /// What `gpgv` says.
        said: String,
    },
}

impl Signatures {
    /// Checks a signature that stands in a file of its own.
    ///
    /// # Errors
    /// When it is not good, or that cannot be told.
    pub fn check(&self, text: &[u8], signature: &[u8]) -> Result<(), SignatureError> {
        let keyring = match self {
            Self::Unchecked => return Ok(()),
            Self::Keyring(path) => path.as_path(),
            Self::System => KEYRINGS
                .iter()
                .map(Path::new)
                .find(|path| path.exists())
                .ok_or(SignatureError::NoKeyring)?,
        };
        let unread = |source| SignatureError::Keyring { path: keyring.to_owned(), source };
        // gpgv takes a relative name for one in its own folder
        let keyring = keyring.canonicalize().map_err(unread)?;
        let mut file = tempfile::NamedTempFile::new().map_err(SignatureError::Program)?;
        file.write_all(signature).map_err(SignatureError::Program)?;
        let mut child = Command::new("gpgv")
            .arg("--keyring")
            .arg(&keyring)
            .arg(file.path())
            .arg("-")
            .env("LC_ALL", "C")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(SignatureError::Program)?;
        if let Some(mut input) = child.stdin.take() {
            // a gpgv that gave up says why by itself
            let _ = input.write_all(text);
        }
        let output = child.wait_with_output().map_err(SignatureError::Program)?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().map(|line| line.trim_start_matches("gpgv: ").trim());
        let said = said.collect::<Vec<_>>().join("; ");
        Err(SignatureError::Bad { keyring, said })
    }
}
