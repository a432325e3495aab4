//! What can go wrong, each with its operands.

use managed_node::{CommandError, NodeError};

/// A failure to set what apt does periodically.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error(
        "file '{name}' is a name that apt does not read; use letters, digits, _ and -, with no \
         ending or .conf"
    )]
    FileName { name: String },
    #[error("settings: '{name}' is not the name of a setting below APT::Periodic")]
    SettingName { name: String },
    #[error("settings: the value '{value}' of {name} has a quote or a line end in it")]
    Value { name: String, value: String },
    #[error("settings: at least one is needed")]
    NoSettings,
    #[error("apt's configuration was broken before and is not touched: {complaint}")]
    BrokenBefore { complaint: String },
    #[error("apt does not take the settings: {complaint}")]
    Candidate { complaint: String },
    #[error("{list}; nothing was placed")]
    Overridden { list: String },
    #[error(transparent)]
    Node(#[from] NodeError),
    #[error(transparent)]
    Command(#[from] CommandError),
}
