//! What can go wrong, each with its operands.

use managed_node::{CommandError, NodeError};

/// A first boot that does not end well, or not in time.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("cloud-init failed: {details}")]
    CloudInit { details: String },
    #[error("cloud-init did not finish within {seconds} s (it says: {details})")]
    Unfinished { seconds: u64, details: String },
    #[error("{unit} was still running after {seconds} s")]
    Job { unit: String, seconds: u64 },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Command(#[from] CommandError),
}
