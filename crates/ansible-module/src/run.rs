//! What a run was asked for beside its options, and what it has to say beside its result.

use std::sync::{Arc, Mutex, MutexGuard, TryLockError};

/// The circumstances of a run. Clones share the warnings, the secrets and the progress.
#[derive(Debug, Clone, Default)]
pub struct Run {
    /// Only say what would change.
    pub check_mode: bool,
    /// Show before and after.
    pub diff: bool,
    /// The number of `-v` on the command line.
    pub verbosity: u8,
    // a mutex and not a cell, because a panic is reported from wherever it happens
    shared: Arc<Mutex<Shared>>,
}

#[derive(Default)]
struct Shared {
    warnings: Vec<String>,
    secrets: Vec<String>,
    progress: Progress,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").field("warnings", &self.warnings.len()).finish_non_exhaustive()
    }
}

/// How far the plan has been carried out.
#[derive(Debug, Clone, Default)]
pub(crate) struct Progress {
    pub(crate) done: Vec<String>,
    pub(crate) left: Vec<String>,
}

impl Run {
    /// Adds a warning to the result; the same text is kept once.
    pub fn warn(&self, text: impl Into<String>) {
        let text = text.into();
        let mut shared = self.lock();
        if !shared.warnings.contains(&text) {
            shared.warnings.push(text);
        }
    }

    /// Keeps a value that did not come as an option (an environment variable, a ticket) out of
    /// every string of the result.
    pub fn hide(&self, secret: &str) {
        let mut shared = self.lock();
        if !secret.is_empty() && !shared.secrets.iter().any(|known| known == secret) {
            shared.secrets.push(secret.to_owned());
        }
    }

    /// Says that every step done so far was taken back, so that a failure after it reports no
    /// change.
    pub fn undone(&self) {
        let progress = &mut self.lock().progress;
        let left = std::mem::take(&mut progress.left);
        progress.left = std::mem::take(&mut progress.done);
        progress.left.extend(left);
    }

    pub(crate) fn warnings(&self) -> Vec<String> {
        self.lock().warnings.clone()
    }

    pub(crate) fn secrets(&self) -> Vec<String> {
        self.lock().secrets.clone()
    }

    /// The secrets, unless the thread that panicked was just adding one.
    pub(crate) fn try_secrets(&self) -> Option<Vec<String>> {
        match self.shared.try_lock() {
            Ok(shared) => Some(shared.secrets.clone()),
            Err(TryLockError::Poisoned(shared)) => Some(shared.into_inner().secrets.clone()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    pub(crate) fn progress(&self) -> Progress {
        self.lock().progress.clone()
    }

    /// These steps are about to be done.
    pub(crate) fn start(&self, steps: &[String]) {
        self.lock().progress.left = steps.to_vec();
    }

    /// The first of the steps left is done.
    pub(crate) fn step_done(&self) {
        let progress = &mut self.lock().progress;
        if !progress.left.is_empty() {
            let step = progress.left.remove(0);
            progress.done.push(step);
        }
    }

    /// Counts a step as done that was begun before the state was read again.
    pub(crate) fn was_done(&self, step: String) {
        self.lock().progress.done.push(step);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        // what is kept here is whole at any moment, also when a thread panicked with the lock
        self.shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_taken_back_are_left_again() {
        let run = Run::default();
        run.start(&["a".to_owned(), "b".to_owned(), "c".to_owned()]);
        run.step_done();
        run.step_done();
        assert_eq!(run.progress().done, ["a", "b"]);
        run.undone();
        assert!(run.progress().done.is_empty());
        assert_eq!(run.progress().left, ["a", "b", "c"]);
    }
}
