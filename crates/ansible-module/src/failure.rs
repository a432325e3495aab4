//! How a module fails: one message, made of a chain of reasons, and values beside it.

use serde::Serialize;
use serde_json::{Map, Value};

/// A failure to report. Made from any error by `?`; the chain of sources becomes one sentence.
#[derive(Debug)]
pub struct Failure {
    message: String,
    extra: Map<String, Value>,
    stale: bool,
    perhaps_done: bool,
}

impl Failure {
    /// A failure with this message: lowercase, no full stop, naming its operands.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), extra: Map::new(), stale: false, perhaps_done: false }
    }

    /// Marks the plan as made on a state that is no longer there: the runner observes and plans
    /// once more before it gives up.
    #[must_use]
    pub fn stale(mut self) -> Self {
        self.stale = true;
        self
    }

    /// Adds a value to the result.
    #[must_use]
    pub fn with(mut self, key: &str, value: impl Serialize) -> Self {
        if let Ok(value) = serde_json::to_value(value) {
            self.extra.insert(key.to_owned(), value);
        }
        self
    }

    /// Says what was being done: `failed to set net0 of vm 100` before the reason.
    #[must_use]
    pub fn context(mut self, what: &str) -> Self {
        self.message = format!("{what}: {}", self.message);
        self
    }

    /// The message.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the state had changed under the plan.
    #[must_use]
    pub fn is_stale(&self) -> bool {
        self.stale
    }

    pub(crate) fn into_parts(self) -> (String, Map<String, Value>) {
        (self.message, self.extra)
    }
}

impl Failure {
    /// Marks a step of which nobody knows whether it was done, because the answer was lost: the state
    /// is read again, and a step that is not planned any more then counts as done.
    #[must_use]
    pub fn perhaps_done(mut self) -> Self {
        self.stale = true;
        self.perhaps_done = true;
        self
    }

    /// Whether the step may have been done.
    #[must_use]
    pub fn is_perhaps_done(&self) -> bool {
        self.perhaps_done
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        let mut message = error.to_string();
        let mut source = error.source();
        while let Some(inner) = source {
            message.push_str(": ");
            message.push_str(&inner.to_string());
            source = inner.source();
        }
        Self::new(message)
    }
}
