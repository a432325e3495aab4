//! One call on its way to its handler, and what handlers need to do their work.

use std::sync::{Arc, MutexGuard, OnceLock};

use serde_json::{Value, json};

use super::error::{ApiError, ApiResult};
use super::params::Params;
use crate::faults::TaskFault;
use crate::shared::Shared;
use crate::state::access::Identity;
use crate::state::{State, now};

/// A call that has been authenticated, permitted and checked against its schema.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) shared: Arc<Shared>,
    pub(crate) who: Identity,
    pub(crate) params: Params,
    /// The last part of the path: an agent's command has no parameter that says it.
    pub(crate) last: String,
    /// How many rows there are in all, for lists that are given in parts.
    pub(crate) total: Arc<OnceLock<usize>>,
}

/// Answers a call.
pub(crate) type Handler = fn(Call) -> ApiResult;

/// A path with its handler.
pub(crate) type Route = (&'static str, &'static str, Handler);

/// A task that is running.
pub(crate) struct TaskHandle {
    shared: Arc<Shared>,
    upid: String,
    failure: Option<String>,
}

impl TaskHandle {
    /// Fails if the task was told to. Work that has to undo something asks this when it has
    /// begun; all other work is not begun at all.
    pub(crate) fn planned_failure(&self) -> Result<(), String> {
        self.failure.clone().map_or(Ok(()), Err)
    }

    /// Fails if the task was told to stop.
    pub(crate) fn interrupted(&self) -> Result<(), String> {
        match self.shared.state().tasks.get(&self.upid) {
            Some(task) if task.interrupted => Err("interrupted by signal".to_owned()),
            _ => Ok(()),
        }
    }

    /// Adds a line to the log.
    pub(crate) fn log(&self, line: impl AsRef<str>) {
        self.shared.state().tasks.log(&self.upid, line.as_ref());
    }
}

impl Call {
    /// The state, to be held for moments only.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.shared.state()
    }

    /// The node in the path.
    pub(crate) fn node(&self) -> &str {
        self.params.text("node")
    }

    /// The guest in the path.
    pub(crate) fn vmid(&self) -> u32 {
        self.params.number("vmid").and_then(|id| u32::try_from(id).ok()).unwrap_or(0)
    }

    /// Fails unless the VM of the path is there.
    pub(crate) fn vm_exists(&self) -> Result<(), ApiError> {
        self.state().vm(self.node(), self.vmid()).map(drop).map_err(ApiError::internal)
    }

    /// Fails unless the caller has a privilege at a path.
    pub(crate) fn require(&self, path: &str, privilege: &str) -> Result<(), ApiError> {
        if self.allows(path, privilege) {
            Ok(())
        } else {
            Err(ApiError::forbidden(&format!("{path}, {privilege}")))
        }
    }

    /// Whether the caller has a privilege at a path.
    pub(crate) fn allows(&self, path: &str, privilege: &str) -> bool {
        super::permissions::allows(&self.state(), &self.who, path, privilege)
    }

    /// Says how many rows there are in all.
    pub(crate) fn set_total(&self, total: usize) {
        // it is said once in a call
        let _ = self.total.set(total);
    }

    /// Begins a task and returns its UPID.
    pub(crate) fn task(
        &self,
        kind: &str,
        id: &str,
        work: impl FnOnce(&TaskHandle) -> Result<(), String> + Send + 'static,
    ) -> ApiResult {
        let node = self.node().to_owned();
        Ok(json!(self.shared.begin_task(&node, kind, id, &self.who, work).0))
    }
}

impl Shared {
    /// Begins a task on behalf of someone; returns its UPID and the thread that works on it.
    pub(crate) fn begin_task(
        self: &Arc<Self>,
        node: &str,
        kind: &str,
        id: &str,
        who: &Identity,
        work: impl FnOnce(&TaskHandle) -> Result<(), String> + Send + 'static,
    ) -> (String, std::thread::JoinHandle<()>) {
        let ticks = 460_000 + self.age() / 10;
        let upid = self.state().tasks.begin(node, kind, id, who, (now(), ticks));
        let fault = self.faults().task(kind);
        let undoes = matches!(kind, "qmcreate" | "qmclone");
        let failure = match &fault {
            Some(TaskFault::Fail(text)) if undoes => Some(text.clone()),
            _ => None,
        };
        let fault = fault.filter(|_| failure.is_none());
        let handle = TaskHandle { shared: Arc::clone(self), upid: upid.clone(), failure };
        let thread = std::thread::spawn(move || {
            let status = carry_out(&handle, fault, work);
            let mut state = handle.shared.state();
            if let Some(task) = state.tasks.end(&handle.upid, &status, now()) {
                state.save_task(&task);
            }
        });
        (upid, thread)
    }
}

fn carry_out(
    handle: &TaskHandle,
    fault: Option<TaskFault>,
    work: impl FnOnce(&TaskHandle) -> Result<(), String>,
) -> String {
    let mut warnings = Vec::new();
    match fault {
        Some(TaskFault::Fail(text)) => return text,
        Some(TaskFault::Slow(time)) => std::thread::sleep(time),
        Some(TaskFault::Warn(lines)) => warnings = lines,
        None => {}
    }
    match work(handle) {
        Ok(()) if warnings.is_empty() => "OK".to_owned(),
        Ok(()) => {
            for line in &warnings {
                handle.log(format!("WARN: {line}"));
            }
            format!("WARNINGS: {}", warnings.len())
        }
        Err(text) => text,
    }
}

/// The answer of calls that return nothing.
pub(crate) const NOTHING: ApiResult = Ok(Value::Null);
