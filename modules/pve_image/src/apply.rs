//! Doing one step.

use ansible_module::Failure;
use pve_types::{NodeName, VolId};

use crate::change::Change;
use crate::names;
use crate::observe::is_lost;
use crate::target::Session;
use crate::transfer::bring;

/// Does one step.
///
/// # Errors
/// When the step failed.
pub(crate) async fn apply(change: &Change, session: &mut Session) -> Result<(), Failure> {
    let result = step(change, session).await;
    // what a failed step left is looked at as at the beginning
    session.applied = result.is_ok();
    result.map_err(|failure| failure.context(&format!("failed to {change}")))
}

async fn step(change: &Change, session: &mut Session) -> Result<(), Failure> {
    match change {
        Change::Fetch { node, volid, .. } => bring(session, node, volid.file_name()).await,
        // an upload is written over the old file once it is whole and its checksum is right
        Change::Replace { node, volid, by_node: false } => {
            session.proofs.remove(node);
            bring(session, node, volid.file_name()).await
        }
        Change::Replace { node, volid, by_node: true } => {
            session.proofs.remove(node);
            replace(session, node, volid).await
        }
        Change::Remove { node, volid } | Change::Tidy { node, volid } => {
            remove(session, node, volid).await
        }
    }
}

/// Downloads under a temporary name, which proves the address and the checksum, before the old file
/// goes; and then once more, since PVE has no way to rename.
async fn replace(session: &mut Session, node: &NodeName, volid: &VolId) -> Result<(), Failure> {
    let name = volid.file_name();
    let temporary = names::temporary(name, &session.mark);
    let fresh = session.request.volid(&temporary);
    let result = match bring(session, node, &temporary).await {
        Ok(()) => swap(session, node, volid).await,
        Err(failure) => Err(Stage::Before(failure)),
    };
    let cleared = match &result {
        Err(Stage::After(_)) => Ok(()),
        _ => session.remove(node, &fresh).await,
    };
    match result {
        Ok(()) => Ok(cleared?),
        Err(Stage::Before(failure)) => Err(failure),
        Err(Stage::After(failure)) => Err(Failure::new(format!(
            "the old file is gone, the new one is there as {fresh}, and the next run finishes: {}",
            failure.message()
        ))),
    }
}

/// How far a replacement came.
enum Stage {
    /// The old file is there.
    Before(Failure),
    /// It is gone.
    After(Failure),
}

impl From<Failure> for Stage {
    fn from(failure: Failure) -> Self {
        Self::Before(failure)
    }
}

async fn swap(session: &mut Session, node: &NodeName, volid: &VolId) -> Result<(), Stage> {
    remove(session, node, volid).await?;
    bring(session, node, volid.file_name()).await.map_err(Stage::After)
}

async fn remove(session: &mut Session, node: &NodeName, volid: &VolId) -> Result<(), Failure> {
    session.remove(node, volid).await.map_err(|error| {
        let lost = is_lost(&error);
        let failure = Failure::from(error);
        if lost { failure.perhaps_done() } else { failure }
    })
}
