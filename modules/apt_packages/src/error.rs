//! What can go wrong, each with its operands.

use managed_node::{CommandError, NodeError};

/// A failure to bring packages to their state.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "name: '{name}' is not a package; write name, name:architecture or name=version, without \
         wildcards"
    )]
    Name { name: String },
    #[error("name: '{name}' is given with a version, and a version cannot be absent")]
    AbsentVersion { name: String },
    #[error("name: '{name}' is asked for in the versions {first} and {second}")]
    TwoVersions { name: String, first: String, second: String },
    #[error(
        "require_pin: the sources are not pinned ({reason}); run ferrite.pve.apt_snapshot_pin first"
    )]
    Unpinned { reason: String },
    #[error("dpkg was interrupted ({reason}); set repair to have it finished")]
    Interrupted { reason: String },
    #[error("apt-get cannot {what}: {complaint}")]
    Refused { what: String, complaint: String },
    #[error("apt-get failed to {what}, status {status}: {complaint}")]
    Apt { what: String, status: i32, complaint: String },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Command(#[from] CommandError),
}
