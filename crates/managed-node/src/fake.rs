//! Commands for tests: answers by the beginning of the command line, and every call remembered.

use std::cell::RefCell;

use crate::command::{Command, CommandError, Output, Runner};

/// A runner that answers from a list. What is not on the list is "not installed", so that a test
/// cannot pass on a command that it did not think of.
#[derive(Debug, Default)]
pub struct Recorder {
    answers: RefCell<Vec<(String, Output)>>,
    calls: RefCell<Vec<String>>,
}

impl Recorder {
    /// A runner that knows no command yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Answers command lines that begin so. A later answer outranks an earlier one.
    #[must_use]
    pub fn on(self, beginning: &str, status: i32, stdout: &str, stderr: &str) -> Self {
        self.answers.borrow_mut().push((
            beginning.to_owned(),
            Output { status, stdout: stdout.to_owned(), stderr: stderr.to_owned() },
        ));
        self
    }

    /// The command lines so far.
    #[must_use]
    pub fn calls(&self) -> Vec<String> {
        self.calls.borrow().clone()
    }
}

impl Runner for Recorder {
    fn run(&self, command: &Command) -> Result<Output, CommandError> {
        let line = command.to_string();
        self.calls.borrow_mut().push(line.clone());
        let answers = self.answers.borrow();
        let answer = answers.iter().rev().find(|(beginning, _)| line.starts_with(beginning));
        answer.map(|(_, output)| output.clone()).ok_or_else(|| CommandError::Absent {
            program: command.argv().first().copied().unwrap_or_default().to_owned(),
        })
    }
}
