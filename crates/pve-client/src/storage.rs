//! `/storage`: the storages as the cluster's configuration has them.

use pve_types::StorageId;
use serde::Deserialize;

use crate::client::Client;
use crate::error::Error;
use crate::form::Form;

/// A storage in the cluster's configuration.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StorageRow {
    /// Its id.
    pub storage: StorageId,
    /// Its type.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// What it may hold, joined by commas.
    #[serde(default)]
    pub content: String,
}

impl Client {
    /// The storages that are configured.
    ///
    /// # Errors
    /// As every call.
    pub async fn storages(&self) -> Result<Vec<StorageRow>, Error> {
        self.get("/storage", &Form::new()).await
    }
}
