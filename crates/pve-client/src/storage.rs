//! `/storage`: the storages as the cluster's configuration has them.

use pve_types::{ConfigDigest, StorageId, lenient};
use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::form::{Form, path};

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
    /// The digest of the configuration, which is one for all storages.
    #[serde(default)]
    pub digest: Option<ConfigDigest>,
    /// Whether all its nodes see the same volumes.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub shared: bool,
    /// Whether it is out of use.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub disable: bool,
    /// The nodes that have it, joined by commas; all if nothing is said.
    #[serde(default)]
    pub nodes: Option<String>,
}

impl Client {
    /// The storages that are configured.
    ///
    /// # Errors
    /// As every call.
    pub async fn storages(&self) -> Result<Vec<StorageRow>, Error> {
        self.get("/storage", &Form::new()).await
    }

    /// Writes what a storage may hold, if the configuration is still the one that was read.
    ///
    /// # Errors
    /// As every call; [`Error::is_stale`] when someone else changed the configuration.
    pub async fn set_storage_content(
        &self,
        storage: &StorageId,
        content: &[String],
        digest: Option<&ConfigDigest>,
    ) -> Result<(), Error> {
        let form = Form::new().text("content", content.join(",")).digest(digest);
        let _: Value = self.put(&path(&["storage", storage.as_str()]), &form).await?;
        Ok(())
    }
}
