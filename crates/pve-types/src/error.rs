//! Why a word of PVE's was not understood.

use thiserror::Error;

/// A text that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("'{value}' is not {what}: {expected}")]
pub struct ParseError {
    /// What it should have been, with its article: `a vmid`.
    pub what: &'static str,
    /// What was given.
    pub value: String,
    /// What would have been right.
    pub expected: String,
}

impl ParseError {
    /// An error for this value.
    pub fn new(what: &'static str, value: impl Into<String>, expected: impl Into<String>) -> Self {
        Self { what, value: value.into(), expected: expected.into() }
    }
}
