//! What can go wrong, each with its operands.

use managed_node::NodeError;

/// A failure to set the zone.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("name '{name}' is not the name of a time zone, for example Europe/Vienna")]
    Form { name: String },
    #[error("tzdata has no time zone '{name}'{hint}")]
    Unknown { name: String, hint: String },
    #[error("there are no time zones in {folder}: the package tzdata is not installed")]
    NoData { folder: &'static str },
    #[error("{path} is a folder, where a link to the time zone has to be; remove it")]
    Folder { path: &'static str },
    #[error(transparent)]
    Node(#[from] NodeError),
}
