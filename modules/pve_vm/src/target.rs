//! The connection of one run, and what its steps keep for those after them.

use std::collections::BTreeMap;
use std::time::Duration;

use ansible_module::{Failure, Run};
use pve_client::{Client, Error, Kind, Pauses, Resource, still_locked};
use pve_types::{NodeName, Size, Upid, Vmid};
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
    /// Whether a machine is taken out of everything that names it when it is removed.
    pub(crate) purge: bool,
    /// How long a task, a lock or the guest is waited for.
    pub(crate) timeout: Duration,
    /// The machine once it is known: where it is and its number.
    pub(crate) known: Option<(NodeName, Vmid)>,
    /// The guests of the cluster, as they were listed when the machine was looked for.
    pub(crate) rows: Vec<Resource>,
    /// Disks that were grown along with other settings.
    pub(crate) grown: BTreeMap<String, Size>,
    /// Whether the answer to a call was lost, so that its task may be under way.
    pub(crate) lost: bool,
    /// Whether something was written since the configuration was read.
    pub(crate) wrote: bool,
    /// Whether something was written in this run at all.
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
            purge: params.purge,
            timeout: Duration::from_secs(params.wait_timeout),
            known: None,
            rows: Vec::new(),
            lost: false,
            grown: BTreeMap::new(),
            wrote: false,
            applied: false,
            upids: Vec::new(),
        };
        Ok(Self { runtime, session })
    }
}

impl Session {
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
}

/// Does a step again while another task holds the machine, until the deadline.
///
/// # Errors
/// As the step; a lock that stays names itself and how it is cleared by hand.
pub(crate) async fn while_locked<T>(
    session: &mut Session,
    label: &str,
    mut step: impl AsyncFnMut(&mut Session) -> Result<T, Error>,
) -> Result<T, Failure> {
    let mut pauses = Pauses::new(session.timeout);
    loop {
        let error = match step(session).await {
            Ok(done) => return Ok(done),
            Err(error) => error,
        };
        // a hibernated machine keeps its lock until somebody lets it go on
        let held = match error.kind() {
            Some(Kind::Locked(lock)) => lock != "suspended",
            Some(Kind::LockTimeout) => true,
            _ => false,
        };
        if held && pauses.pause().await {
            continue;
        }
        return Err(match error.kind() {
            Some(Kind::Locked(lock)) => Failure::new(still_locked(label, lock, session.timeout)),
            _ => failure(error),
        });
    }
}

/// A failure of a call. One whose outcome is not known, or that found another configuration than
/// the one compared, has the state read again.
pub(crate) fn failure(error: Error) -> Failure {
    let (stale, lost) = (error.is_stale(), matches!(error, Error::MaybeSent { .. }));
    match Failure::from(error) {
        failure if lost => failure.perhaps_done(),
        failure if stale => failure.stale(),
        failure => failure,
    }
}
