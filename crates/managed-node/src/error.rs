//! What can go wrong on the node, each with its path.

use std::io;
use std::path::PathBuf;

use crate::lock::Holder;

/// A failure on the node.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A file or folder could not be worked on.
    #[error("failed to {what} {}", path.display())]
    File {
        /// What was tried: "read", "replace".
        what: &'static str,
        /// The path as the node sees it.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// The root is not a folder that exists.
    #[error("root '{}' is not an absolute path of an existing folder", path.display())]
    Root {
        /// What was given.
        path: PathBuf,
    },
    /// A lock was not to be had in time.
    #[error("{} is locked by {holder} and did not become free within {seconds} s", path.display())]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// Who holds it.
        holder: Holder,
        /// How long it was awaited.
        seconds: u64,
    },
}

impl NodeError {
    /// Whether the path was not there.
    #[must_use]
    pub fn is_absent(&self) -> bool {
        matches!(self, Self::File { source, .. } if source.kind() == io::ErrorKind::NotFound)
    }
}
