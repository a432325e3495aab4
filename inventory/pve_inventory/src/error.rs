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
    #[error(
        "{path} holds a secret and others can read it: chmod 600 {path} (its mode is {mode:04o})"
    )]
    OpenSecret {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A command that should print a secret does not.
    #[error("{key} {reason}")]
    SecretCommand {
        /// The key that names it.
        key: &'static str,
        /// What happened.
        reason: String,
    },
    /// An environment variable is not what it should be.
    #[error("{name} is '{value}': {expected}")]
    Environment {
        /// The variable.
        name: String,
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
    /// A spec says what its guest is not.
    #[error(
        "{path} says vm, guest {vmid}{name} is a container: give the spec another name and vmid, or \
         remove it"
    )]
    Kind {
        /// The spec.
        path: PathBuf,
        /// The guest's number.
        vmid: Vmid,
        /// Its name in brackets, if it is known.
        name: String,
    },
    /// A spec could mean several guests.
    #[error(
        "{path} could mean any of the guests {ids}, which are all called '{name}': give {hint}"
    )]
    Ambiguous {
        /// The spec.
        path: PathBuf,
        /// The name they share.
        name: String,
        /// Their vmids.
        ids: String,
        /// What would tell them apart.
        hint: &'static str,
    },
    /// The list is empty, and so are the rights.
    #[error(
        "{0} has no privileges at all and therefore sees no guest: grant it PVEAuditor on /vms (a \
         token with privilege separation needs it for itself)"
    )]
    NoRights(String),
    /// No endpoint of a cluster answers.
    #[error("{0}")]
    Unreachable(String),
    /// The cache cannot be written.
    #[error("failed to keep what was read in {path}: {source}")]
    Cache {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// One of several clusters.
    #[error("cluster '{name}': {source}")]
    Cluster {
        /// What it is called.
        name: String,
        /// What is wrong.
        source: Box<Error>,
    },
    /// Something is missing, and nothing may be.
    #[error("strict: {0}")]
    Strict(String),
    /// A spec names a cluster that is not there.
    #[error("{path}: cluster '{name}' is not in the configuration, which has {known}")]
    NoCluster {
        /// The spec.
        path: PathBuf,
        /// What it says.
        name: String,
        /// Those that are there.
        known: String,
    },
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
