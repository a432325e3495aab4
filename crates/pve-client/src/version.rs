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
    /// The first number.
    #[must_use]
    pub fn major(&self) -> Option<u32> {
        self.version.split('.').next()?.parse().ok()
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
