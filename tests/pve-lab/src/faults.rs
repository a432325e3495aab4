//! Faults on request, to test what callers make of them.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// How a faulty task ends.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TaskFault {
    /// It fails with this text, having done nothing.
    Fail(String),
    /// It does its work and then ends with warnings, these lines in its log.
    Warn(Vec<String>),
    /// It takes so much longer.
    Slow(Duration),
}

/// What happens to a call instead of an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CallFault {
    /// The call is carried out, and the connection closed without an answer.
    DropAfter,
    /// The connection is closed before the call is carried out.
    DropBefore,
    /// 595, 596 or 599 without a body; the call is carried out only with `done`.
    Proxy {
        /// The status.
        status: u16,
        /// The reason.
        reason: String,
        /// Whether the work is done all the same.
        done: bool,
    },
    /// The answer comes later.
    Slow(Duration),
    /// The guest's configuration changes just before the call, so that a digest is stale.
    ChangeDigest,
}

#[derive(Debug)]
pub(crate) struct PlannedTask {
    pub(crate) kind: String,
    pub(crate) fault: TaskFault,
    pub(crate) left: u32,
}

#[derive(Debug)]
pub(crate) struct PlannedCall {
    pub(crate) method: String,
    pub(crate) part: String,
    pub(crate) fault: CallFault,
    pub(crate) left: u32,
}

/// All faults that are still to come.
#[derive(Debug, Default)]
pub(crate) struct Faults {
    pub(crate) tasks: Vec<PlannedTask>,
    pub(crate) calls: Vec<PlannedCall>,
}

impl Faults {
    /// The fault of a task that begins, used up.
    pub(crate) fn task(&mut self, kind: &str) -> Option<TaskFault> {
        let planned = self.tasks.iter_mut().find(|p| p.kind == kind && p.left > 0)?;
        planned.left -= 1;
        Some(planned.fault.clone())
    }

    /// The fault of a call that comes in, used up.
    pub(crate) fn call(&mut self, method: &str, path: &str) -> Option<CallFault> {
        let planned = self
            .calls
            .iter_mut()
            .find(|p| p.left > 0 && p.method == method && path.contains(&p.part))?;
        planned.left -= 1;
        Some(planned.fault.clone())
    }
}
