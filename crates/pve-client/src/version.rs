//! `/version`: which PVE answers.

use serde::Deserialize;

use crate::client::Client;
use crate::error::Error;
use crate::form::Form;

/// Which PVE answers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Version {
    /// For example `9.2.11`.
    pub version: String,
    /// For example `9.2`.
    #[serde(default)]
    pub release: String,
}

impl Version {
    /// Its three numbers; one that is not there is 0.
    #[must_use]
    pub fn number(&self) -> Option<[u32; 3]> {
        let mut parts = self.version.split(['.', '-', '~']).map(|part| part.parse().ok());
        let first = parts.next()??;
        let mut rest = parts.map(|part| part.unwrap_or(0)).chain([0, 0]);
        Some([first, rest.next()?, rest.next()?])
    }
}

impl Client {
    /// Which PVE answers.
    ///
    /// # Errors
    /// As every call.
    pub async fn version(&self) -> Result<Version, Error> {
        self.get("/version", &Form::new()).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_ordered_by_their_numbers() {
        for (text, number) in [
            ("9.2.11", Some([9, 2, 11])),
            ("8.4.1", Some([8, 4, 1])),
            ("7.4-17", Some([7, 4, 17])),
            ("9.0", Some([9, 0, 0])),
            ("9.0.0~11", Some([9, 0, 0])),
            ("unheard of", None),
        ] {
            let version = Version { version: text.into(), release: String::new() };
            assert_eq!(version.number(), number, "{text}");
        }
    }
}
