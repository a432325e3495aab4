//! Refusals, in the shapes that PVE gives them.

use std::collections::BTreeMap;
use std::time::Duration;

/// What stands in the body of a refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ErrorBody {
    /// `{"data":null,"message":"...\n"}`, with `errors` if there are any.
    Json,
    /// The reason again, as plain text.
    Text,
    /// Nothing.
    Empty,
}

/// A refusal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ApiError {
    pub(crate) status: u16,
    pub(crate) message: String,
    pub(crate) errors: BTreeMap<String, String>,
    pub(crate) body: ErrorBody,
    /// How long the answer waits.
    pub(crate) delay: Duration,
    /// 501 of unknown methods has a message without the newline.
    pub(crate) newline: bool,
}

impl ApiError {
    fn plain(status: u16, message: impl Into<String>) -> Self {
        Self {
            status,
            message: message.into(),
            errors: BTreeMap::new(),
            body: ErrorBody::Json,
            delay: Duration::ZERO,
            newline: true,
        }
    }

    /// 500 with this message.
    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::plain(500, message)
    }

    /// 400 with one bad parameter.
    pub(crate) fn param(name: &str, text: impl Into<String>) -> Self {
        Self::params(BTreeMap::from([(name.to_owned(), text.into())]))
    }

    /// 400 with all bad parameters.
    pub(crate) fn params(errors: BTreeMap<String, String>) -> Self {
        Self { errors, ..Self::plain(400, "Parameter verification failed.") }
    }

    /// 403, with what is missing in parentheses.
    pub(crate) fn forbidden(detail: &str) -> Self {
        if detail.is_empty() {
            Self::plain(403, "Permission check failed")
        } else {
            Self::plain(403, format!("Permission check failed ({detail})"))
        }
    }

    /// 401 without a body, after PVE's delay.
    pub(crate) fn unauthorized(message: &str) -> Self {
        Self { body: ErrorBody::Empty, delay: Duration::from_secs(3), ..Self::plain(401, message) }
    }

    /// 401 of a wrong password: this one has a body.
    pub(crate) fn wrong_password() -> Self {
        Self { delay: Duration::from_secs(3), ..Self::plain(401, "authentication failure") }
    }

    /// A refusal of the HTTP server itself, in plain text.
    pub(crate) fn text(status: u16, message: impl Into<String>) -> Self {
        Self { body: ErrorBody::Text, ..Self::plain(status, message) }
    }

    /// An error without a body, as 595 and 596 are.
    pub(crate) fn empty(status: u16, message: impl Into<String>) -> Self {
        Self { body: ErrorBody::Empty, ..Self::plain(status, message) }
    }

    /// 501 for a path or method that is not served.
    pub(crate) fn not_implemented(method: &str, path: &str) -> Self {
        Self {
            newline: false,
            ..Self::plain(501, format!("Method '{method} {path}' not implemented"))
        }
    }

    /// The same refusal, later.
    pub(crate) fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }
}

/// What a handler returns.
pub(crate) type ApiResult = Result<serde_json::Value, ApiError>;
