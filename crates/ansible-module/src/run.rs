//! What a run was asked for beside its options, and what it has to say beside its result.

use std::cell::RefCell;
use std::rc::Rc;

/// The circumstances of a run. Clones share the warnings and secrets.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Only say what would change.
    pub check_mode: bool,
    /// Show before and after.
    pub diff: bool,
    /// The number of `-v` on the command line.
    pub verbosity: u8,
    warnings: Rc<RefCell<Vec<String>>>,
    secrets: Rc<RefCell<Vec<String>>>,
}

impl Run {
    /// Adds a warning to the result; the same text is kept once.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&text) {
            warnings.push(text);
        }
    }

    /// Keeps a value that did not come as an option (an environment variable, a ticket) out of
    /// every string of the result.
    pub fn hide(&self, secret: &str) {
        if !secret.is_empty() {
            self.secrets.borrow_mut().push(secret.to_owned());
        }
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        self.secrets.borrow().clone()
    }
}
