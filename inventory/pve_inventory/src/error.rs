//! What stops the whole inventory. What concerns one guest is a reason at that guest instead.

use std::path::PathBuf;

use pve_types::Vmid;
use thiserror::Error;

/// A failure of the run: one sentence on standard error, and nothing on standard output.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the key and what is allowed.
        reason: String,
    },
    /// A secret lies open.
    #[error("{path} holds a secret and others can read it: chmod 600 {path}")]
    OpenSecret {
        /// The file.
        path: PathBuf,
    },
    /// An environment variable is not what it should be.
    #[error("{name} is '{value}': {expected}")]
    Environment {
        /// The variable.
        name: &'static str,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The API cannot be asked.
    #[error(transparent)]
    Api(#[from] pve_client::Error),
    /// A spec and the cluster do not agree.
    #[error(
        "{path} says vmid {vmid}, and guest {vmid} is called '{found}', not '{expected}': correct \
         the spec's vmid or rename one of them"
    )]
    Mismatch {
        /// The spec.
        path: PathBuf,
        /// Its vmid.
        vmid: Vmid,
        /// The name of that guest.
        found: String,
        /// The spec's name.
        expected: String,
    },
    /// A spec could mean several guests.
    #[error(
        "{path} could mean any of the guests {ids}, which are all called '{name}': give its vmid"
    )]
    Ambiguous {
        /// The spec.
        path: PathBuf,
        /// The name they share.
        name: String,
        /// Their vmids.
        ids: String,
    },
    /// The list is empty, and so are the rights.
    #[error(
        "{0} has no privileges at all and therefore sees no guest: grant it PVEAuditor on /vms (a \
         token with privilege separation needs it for itself)"
    )]
    NoRights(String),
    /// No guest of this name or number.
    #[error("no guest is called '{0}' or has that vmid")]
    NoGuest(String),
    /// The program itself cannot work here.
    #[error("failed to start: {source}")]
    Runtime {
        /// Why.
        source: std::io::Error,
    },
}
