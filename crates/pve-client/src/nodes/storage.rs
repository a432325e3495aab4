//! `/nodes/{node}/storage`: the storages as one node sees them.

use pve_types::{StorageId, Upid, VolId, lenient};
use serde::Deserialize;

use crate::client::Client;
use crate::error::Error;
use crate::form::Form;
use crate::nodes::Node;

/// A storage in a node's list, or by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct StorageStatus {
    /// Its id; absent when one storage was asked for.
    #[serde(default)]
    pub storage: Option<StorageId>,
    /// Its type: `dir`, `lvmthin`, `zfspool`, ...
    #[serde(rename = "type", default)]
    pub kind: String,
    /// What it may hold, joined by commas.
    #[serde(default)]
    pub content: String,
    /// Whether it can be used now.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub active: bool,
    /// Whether it is meant to be used.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub enabled: bool,
    /// Whether all its nodes see the same volumes; 1 is yes.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub shared: Option<u8>,
    /// The bytes left.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub avail: Option<u64>,
}

impl StorageStatus {
    /// Whether it may hold volumes of this content.
    #[must_use]
    pub fn holds(&self, content: &str) -> bool {
        self.content.split(',').any(|held| held.trim() == content)
    }
}

/// A volume in a storage's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Content {
    /// Its volid.
    pub volid: VolId,
    /// What it is: `images`, `import`, `iso`, ...
    #[serde(default)]
    pub content: String,
    /// Its format.
    #[serde(default)]
    pub format: Option<String>,
    /// Its size in bytes.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub size: Option<u64>,
    /// The volume that it is a linked copy of.
    #[serde(default)]
    pub parent: Option<String>,
    /// The guest it belongs to.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub vmid: Option<u32>,
}

/// What a node learns of an address without fetching what is there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct UrlMetadata {
    /// The file's name, by the server or by the address.
    #[serde(default)]
    pub filename: Option<String>,
    /// Its size in bytes, if the server says it.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub size: Option<u64>,
    /// What the server says that it is.
    #[serde(default)]
    pub mimetype: Option<String>,
}

/// A volume by itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct VolumeInfo {
    /// Its format.
    #[serde(default)]
    pub format: Option<String>,
    /// Its size in bytes, as a guest sees it.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub size: Option<u64>,
}

/// One storage on a node.
#[derive(Debug, Clone, Copy)]
pub struct NodeStorage<'a> {
    node: Node<'a>,
    storage: &'a StorageId,
}

impl<'a> Node<'a> {
    /// The storages that this node has.
    ///
    /// # Errors
    /// As every call.
    pub async fn storages(self) -> Result<Vec<StorageStatus>, Error> {
        self.client.get(&self.path(&["storage"]), &Form::new()).await
    }

    /// Asks the node what is at an address.
    ///
    /// # Errors
    /// As every call; the node's words when the address does not answer well.
    pub async fn url_metadata(self, url: &str) -> Result<UrlMetadata, Error> {
        let query = Form::new().text("url", url);
        self.client.get(&self.path(&["query-url-metadata"]), &query).await
    }

    /// A storage on this node.
    #[must_use]
    pub fn storage(self, storage: &'a StorageId) -> NodeStorage<'a> {
        NodeStorage { node: self, storage }
    }
}

impl NodeStorage<'_> {
    pub(crate) fn client(&self) -> &Client {
        self.node.client
    }

    pub(crate) fn path(&self, rest: &[&str]) -> String {
        let mut segments = vec!["storage", self.storage.as_str()];
        segments.extend(rest);
        self.node.path(&segments)
    }

    /// Its type, content types and room.
    ///
    /// # Errors
    /// As every call; [`Error::is_gone`] when there is no such storage.
    pub async fn status(self) -> Result<StorageStatus, Error> {
        self.node.client.get(&self.path(&["status"]), &Form::new()).await
    }

    /// Its volumes of one content type, or all. A type that it does not hold gives none.
    ///
    /// # Errors
    /// As every call.
    pub async fn content(self, content: Option<&str>) -> Result<Vec<Content>, Error> {
        let query = Form::new().maybe("content", content);
        self.node.client.get(&self.path(&["content"]), &query).await
    }

    /// One volume: its format and, unlike a list of files, the size that a guest sees.
    ///
    /// # Errors
    /// As every call; the server knows no volume of that name by a failure of its own.
    pub async fn volume(self, volid: &VolId) -> Result<VolumeInfo, Error> {
        let path = self.path(&["content", &volid.to_string()]);
        self.node.client.get(&path, &Form::new()).await
    }

    /// Removes a volume. The task of removing one that is not there ends well too.
    ///
    /// # Errors
    /// As every call.
    pub async fn delete_volume(self, volid: &VolId) -> Result<Option<Upid>, Error> {
        let path = self.path(&["content", &volid.to_string()]);
        self.node.client.remove(&path, &Form::new()).await
    }

    /// Lets the node fetch a file into the storage. The task is to be waited for; it refuses a name
    /// that is taken.
    ///
    /// # Errors
    /// As every call.
    pub async fn download_url(self, form: &Form) -> Result<Upid, Error> {
        self.node.client.post(&self.path(&["download-url"]), form).await
    }
}
