//! `sshkeys`: public keys, percent-encoded once more inside the form's own encoding.

use std::fmt;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

use crate::ParseError;

/// What PVE leaves as it is; everything else is encoded, a blank as `%20` and never as `+`.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// The public keys that cloud-init gives the user.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SshKeys(Vec<String>);

impl SshKeys {
    /// Keys as a person writes them: one a line, blank lines and comments left out.
    ///
    /// # Errors
    /// When a line is not a public key, for example the path of a file.
    pub fn from_text(text: &str) -> Result<Self, ParseError> {
        let keys = Self::lines(text);
        for key in &keys {
            check(key)?;
        }
        Ok(Self(keys))
    }

    /// Keys as PVE holds them.
    #[must_use]
    pub fn decode(value: &str) -> Self {
        Self(Self::lines(&percent_decode_str(value).decode_utf8_lossy()))
    }

    fn lines(text: &str) -> Vec<String> {
        text.lines()
            .map(str::trim)
            .filter(|line| !line.is_empty() && !line.starts_with('#'))
            .map(str::to_owned)
            .collect()
    }

    /// The value of the setting, before the form's own encoding.
    #[must_use]
    pub fn encode(&self) -> String {
        utf8_percent_encode(&self.0.join("\n"), KEPT).to_string()
    }

    /// The keys, one a line.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }
}

impl fmt::Display for SshKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

/// The kinds of keys that sshd accepts begin so.
const PREFIXES: [&str; 3] = ["ssh-", "ecdsa-sha2-", "sk-"];

fn check(key: &str) -> Result<(), ParseError> {
    let expected = "a line of the form 'ssh-ed25519 AAAA... comment', the content of a .pub file \
                    and not its path";
    // Options may stand before the type; they may hold blanks within quotes only.
    let mut words = key
        .split_whitespace()
        .skip_while(|word| !PREFIXES.iter().any(|prefix| word.starts_with(prefix)));
    let kind = words.next();
    let data = words.next().unwrap_or_default();
    let base64 = |byte: u8| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte);
    if kind.is_some() && data.starts_with("AAAA") && data.bytes().all(base64) {
        return Ok(());
    }
    if key.contains("PRIVATE KEY") {
        // Never repeat what may be a secret.
        return Err(ParseError::new("a public ssh key", "-----BEGIN ...", expected));
    }
    Err(ParseError::new("a public ssh key", key, expected))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b25_the_field_is_encoded_inside_the_form() {
        let keys = SshKeys::from_text("ssh-ed25519 AAAA+b/c= me@host:1\n").unwrap();
        assert_eq!(keys.encode(), "ssh-ed25519%20AAAA%2Bb%2Fc%3D%20me%40host%3A1");
        assert_eq!(SshKeys::decode(&keys.encode()), keys);
        assert_eq!(SshKeys::decode("ssh-ed25519%20AAAA%2Bb%2Fc%3D%20me%40host%3A1%0A"), keys);
    }

    #[test]
    fn b27_a_path_is_not_a_key() {
        for text in [
            "/root/.ssh/id_rsa.pub",
            "ssh-ed25519",
            "ssh-ed25519 not base64",
            "AAAAC3NzaC1lZDI1NTE5AAAAIFt4",
            "-----BEGIN OPENSSH PRIVATE KEY-----",
        ] {
            let error = SshKeys::from_text(text).unwrap_err().to_string();
            assert!(error.contains("is not a public ssh key"), "{error}");
        }
        assert!(
            SshKeys::from_text("ssh-rsa AAAAB3Nza\n\n# old\necdsa-sha2-nistp256 AAAAE2Vj x")
                .is_ok()
        );
    }
}
