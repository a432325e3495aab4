//! What can go wrong, sorted by what the caller may do next.

use std::collections::BTreeMap;
use std::fmt;

use pve_types::Upid;
use thiserror::Error;

use crate::classify::Kind;
use crate::options::OptionsError;
use crate::tls::TrustError;

/// A call that did not end well.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Error {
    /// The options do not say how to connect. Nothing was sent.
    #[error(transparent)]
    Options(#[from] OptionsError),
    /// The certificates to trust are not usable. Nothing was sent.
    #[error(transparent)]
    Trust(#[from] TrustError),
    /// The server was not reached; nothing was done, and trying again is safe.
    #[error("failed to reach the API at {endpoint}: {reason}")]
    NotSent {
        /// Host and port.
        endpoint: String,
        /// Why, with what can be done about it.
        reason: String,
    },
    /// The call went out and its outcome is not known: read the state again before repeating it.
    #[error("the outcome of {call} is not known: {reason}")]
    MaybeSent {
        /// Method and path.
        call: String,
        /// What happened in place of an answer.
        reason: String,
        /// The status, when the cluster's own proxy gave up (595 to 599).
        status: Option<u16>,
    },
    /// A file was not sent whole. The server drops what it has of it, and nothing is changed.
    #[error(
        "{file} was not sent whole ({sent} of {size} bytes), so nothing of it is kept: {reason}"
    )]
    Unfinished {
        /// The file's name on the storage.
        file: String,
        /// How much of it was sent.
        sent: u64,
        /// How much there is.
        size: u64,
        /// What came in between.
        reason: String,
    },
    /// The server said no; saying it again does not help.
    #[error(transparent)]
    Refused(Box<Refusal>),
    /// The answer is not what the API gives.
    #[error("the answer to {call} is not as expected: {reason}")]
    Answer {
        /// Method and path.
        call: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A task ended badly or did not end.
    #[error(transparent)]
    Task(Box<TaskError>),
}

impl Error {
    /// What the server meant, if it answered or a task said it.
    #[must_use]
    pub fn kind(&self) -> Option<&Kind> {
        match self {
            Self::Refused(refusal) => Some(&refusal.kind),
            Self::Task(task) => Some(&task.kind),
            _ => None,
        }
    }

    /// Whether what was asked about does not exist.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        matches!(self.kind(), Some(Kind::Gone))
    }

    /// Whether the configuration was changed by someone else since it was read.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        matches!(self.kind(), Some(Kind::DigestMismatch))
    }

    /// Whether the trouble lies between us and the node rather than in what was asked.
    #[must_use]
    pub fn is_transport(&self) -> bool {
        matches!(self, Self::NotSent { .. } | Self::MaybeSent { .. })
    }
}

/// A call that the server refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Method and path.
    pub call: String,
    /// The HTTP status.
    pub status: u16,
    /// The server's words.
    pub message: String,
    /// Its words about single parameters.
    pub errors: BTreeMap<String, String>,
    /// What it means.
    pub kind: Kind,
    /// Who called: `token 'ansible@pve!ci'`.
    pub caller: String,
}

impl Refusal {
    /// What the server said; of wrong parameters it says what matters about each of them only.
    fn words(&self) -> String {
        if self.errors.is_empty() {
            return self.message.clone();
        }
        let texts = self.errors.iter().map(|(name, text)| format!("{name}: {text}"));
        texts.collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { caller, call, .. } = self;
        let message = self.words();
        match &self.kind {
            Kind::Unauthorized => write!(
                f,
                "the API does not accept {caller} ({message}): check its name, realm and secret, \
                 and whether it has expired"
            ),
            Kind::SecondFactor => write!(
                f,
                "{caller} needs a second factor to log in: use an API token (api_token_id and \
                 api_token_secret) in its place"
            ),
            Kind::Forbidden { path: Some(path), privileges } if !privileges.is_empty() => write!(
                f,
                "{caller} lacks {} on {path}: grant it there; a token with privilege separation \
                 needs it for itself as well",
                privileges.join(" or ")
            ),
            Kind::Forbidden { .. } => write!(f, "{caller} may not {call}: {message}"),
            Kind::LockTimeout => {
                write!(f, "{message} (another task holds the guest's configuration; try again)")
            }
            Kind::RootOnly => write!(
                f,
                "{message} (PVE lets only root@pam with a password do this, no API token)"
            ),
            Kind::NotImplemented | Kind::Other => write!(f, "{message} ({call})"),
            _ => f.write_str(&message),
        }
    }
}

impl std::error::Error for Refusal {}

/// A task that failed, or that did not end in time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskError {
    /// The task.
    pub upid: Upid,
    /// What it ended with; nothing if it was still running at the deadline.
    pub exit: Option<String>,
    /// The last lines of its log.
    pub log: Vec<String>,
    /// What its exit means.
    pub kind: Kind,
    /// How many seconds it was waited for.
    pub waited: u64,
}

impl fmt::Display for TaskError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Upid { kind, node, .. } = &self.upid;
        match &self.exit {
            Some(exit) => write!(f, "task {kind} on {node} failed: {exit}")?,
            None => write!(
                f,
                "task {kind} on {node} still runs after {} s; it goes on by itself ({})",
                self.waited, self.upid
            )?,
        }
        // the log's last line repeats the exit status
        let told =
            |line: &&String| !self.exit.as_ref().is_some_and(|exit| line.contains(exit.as_str()));
        let rest: Vec<&str> = self.log.iter().filter(told).map(String::as_str).collect();
        if !rest.is_empty() {
            write!(f, "; its log ends with: {}", rest.join(" | "))?;
        }
        Ok(())
    }
}

impl std::error::Error for TaskError {}
