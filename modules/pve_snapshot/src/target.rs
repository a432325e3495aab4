//! The connection of one run, and what its steps keep for those after them.

use std::time::Duration;

use ansible_module::{Failure, Run};
use pve_client::{Client, Error, Kind, Qemu, still_locked};
use pve_types::{NodeName, Upid, Vmid};
use tokio::runtime::Runtime;

use crate::params::Params;

/// The connection of one run.
#[derive(Debug)]
pub(crate) struct Target {
    /// Drives the client's calls.
    pub(crate) runtime: Runtime,
    /// What the steps work with.
    pub(crate) session: Session,
}

/// What the steps work with.
#[derive(Debug)]
pub(crate) struct Session {
    /// The API.
    pub(crate) client: Client,
    /// The circumstances of the run.
    pub(crate) run: Run,
    /// How long a task or a lock is waited for.
    pub(crate) timeout: Duration,
    /// The machine once it is known: where it is and its number.
    pub(crate) known: Option<(NodeName, Vmid)>,
    /// Whether something was done in this run.
    pub(crate) applied: bool,
    /// The tasks of this run.
    pub(crate) upids: Vec<String>,
}

impl Target {
    /// Opens the connection; nothing is sent yet.
    ///
    /// # Errors
    /// When the options do not say how.
    pub(crate) fn new(params: &Params, run: &Run) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let session = Session {
            client: Client::connect(&params.connection)?,
            run: run.clone(),
            timeout: Duration::from_secs(params.wait_timeout),
            known: None,
            applied: false,
            upids: Vec::new(),
        };
        Ok(Self { runtime, session })
    }
}

impl Session {
    /// The machine.
    pub(crate) fn qemu<'a>(&'a self, node: &'a NodeName, vmid: Vmid) -> Qemu<'a> {
        self.client.node(node).qemu(vmid)
    }

    /// Waits for a task to end well; its warnings become the result's.
    ///
    /// # Errors
    /// When the task failed or did not end in time.
    pub(crate) async fn follow(&mut self, upid: &Upid) -> Result<(), Error> {
        self.upids.push(upid.to_string());
        let outcome = self.client.wait(upid, self.timeout).await?;
        for warning in outcome.warnings {
            self.run.warn(warning);
        }
        Ok(())
    }

    /// A failure of a call about a machine. One whose outcome is not known has the state read again.
    pub(crate) fn failure(&self, label: &str, error: Error) -> Failure {
        match error.kind() {
            Some(Kind::Locked(lock)) => Failure::new(still_locked(label, lock, self.timeout)),
            _ => failure(error),
        }
    }
}

/// A failure of a call. One whose outcome is not known has the state read again.
pub(crate) fn failure(error: Error) -> Failure {
    let again = matches!(error, Error::MaybeSent { .. });
    let failure = Failure::from(error);
    if again { failure.stale() } else { failure }
}
