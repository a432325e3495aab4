//! The SHA-256 of a certificate, by which one certificate is trusted and no other.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

/// A certificate's SHA-256 fingerprint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    /// The fingerprint of a certificate in DER.
    #[must_use]
    pub fn of(certificate: &[u8]) -> Self {
        Self(Sha256::digest(certificate).into())
    }
}

impl FromStr for Fingerprint {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits: Vec<u8> = text
            .bytes()
            .filter(|byte| !b": -".contains(byte))
            .map(|byte| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or(())?;
        let bytes: Vec<u8> =
            digits.chunks(2).map(|pair| pair[0] << 4 | pair[pair.len() - 1]).collect();
        if digits.len() != 64 {
            return Err(());
        }
        bytes.try_into().map(Self).map_err(|_| ())
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, byte) in self.0.iter().enumerate() {
            let colon = if index == 0 { "" } else { ":" };
            write!(f, "{colon}{byte:02X}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_separators_do_not_matter() {
        let print = Fingerprint::of(b"a certificate");
        let shown = print.to_string();
        assert_eq!(shown.len(), 95);
        for text in [
            shown.clone(),
            shown.to_lowercase(),
            shown.replace(':', ""),
            shown.replace(':', " "),
            shown.replace(':', "").to_lowercase(),
        ] {
            assert_eq!(text.parse(), Ok(print), "{text}");
        }
    }

    #[test]
    fn anything_else_is_refused() {
        let shown = Fingerprint::of(b"x").to_string();
        for text in
            ["", "AB", &shown[..94], &shown[3..], &format!("{shown}:00"), &shown.replace(':', "g")]
        {
            assert_eq!(text.parse::<Fingerprint>(), Err(()), "{text}");
        }
    }
}
