//! What can go wrong, each with its operands.

use managed_node::{CommandError, NodeError};

/// A failure of the pin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("snapshot_id '{id}' is not of the form YYYYMMDDTHHMMSSZ, for example 20260801T000000Z")]
    BadId { id: String },
    #[error("snapshot_id '{id}' is in the future: the node's clock says {clock}")]
    FutureId { id: String, clock: String },
    #[error("servers: the address '{template}' for '{key}' has no @SNAPSHOTID@ in it")]
    Template { key: String, template: String },
    #[error(
        "method native needs an apt that knows snapshots; apt-config dump of this one has no \
         Acquire::Snapshots::URI (use method rewrite)"
    )]
    NoNative,
    #[error("sources: '{selector}' names no enabled source; there are {known}")]
    NoSuchSource { selector: String, known: String },
    #[error("there is no enabled source to pin in {places}")]
    NoSources { places: String },
    #[error("{count} of the sources would not be pinned to {id}, and nothing was changed: {list}")]
    Unpinned { count: usize, id: String, list: String },
    #[error(
        "{count} of the sources are a snapshot, what they were before is not remembered, and \
         nothing was changed: {list}; those that are to stay are named in allow_unpinned"
    )]
    Standing { count: usize, list: String },
    #[error("the snapshot {id} cannot be brought in force, and nothing was changed: {list}")]
    Trial { id: String, list: String },
    #[error("the snapshot {id} was not in force after it was placed; all was put back: {list}")]
    NotInForce { id: String, list: String },
    #[error(
        "the package lists of the snapshot need {need} MB in {path}, and {free} MB are free; \
         nothing was changed"
    )]
    Space { path: String, need: u64, free: u64 },
    #[error("the memory of the sources before the pin is not readable")]
    Memory { source: serde_json::Error },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Command(#[from] CommandError),
}
