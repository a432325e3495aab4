//! What the task asks for.

use pve_client::ConnectOptions;
use pve_types::StorageId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;

/// Let a storage of Proxmox VE hold more kinds of content.
///
/// A storage holds only what its list of content types names: a file of an image that disks are
/// imported from needs `import`, an installation medium `iso`. This module adds to the list. What
/// stands on it already stays, whoever put it there.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The connection to the API.
    #[serde(flatten)]
    pub(crate) connection: ConnectOptions,
    /// What should be.
    #[serde(default)]
    #[expect(dead_code, reason = "it has one value, which is what the module does")]
    pub(crate) state: State,
    /// The storage, by its id.
    pub(crate) storage: StorageId,
    /// The content types that the storage has to hold, for example V(import), V(iso), V(vztmpl) or
    /// V(snippets). Which of them are possible depends on the storage's type: one of volumes, such as
    /// LVM, ZFS or RBD, holds V(images) and V(rootdir) only.
    pub(crate) content: Vec<String>,
}

/// What should be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The storage holds these content types.
    #[default]
    Present,
}

impl Params {
    /// Checks what the types cannot say.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.content.is_empty() {
            return Err(Error::Empty);
        }
        for word in &self.content {
            if word == "none" {
                return Err(Error::None);
            }
            // which words there are is left to the server: it may know more than this release
            if word.is_empty() || !word.bytes().all(|byte| byte.is_ascii_lowercase()) {
                return Err(Error::Word { word: word.clone() });
            }
        }
        Ok(())
    }
}
