//! Doing one step, and waiting for its task.

use ansible_module::Failure;
use pve_client::{Error, Form, Kind, Pauses, while_held};
use pve_types::{NodeName, Vmid};

use crate::change::Change;
use crate::target::Session;

/// Does one step.
///
/// # Errors
/// When the step failed.
pub(crate) async fn apply(change: &Change, session: &mut Session) -> Result<(), Failure> {
    let Some((node, vmid)) = session.known.clone() else {
        return Err(Failure::new("the machine is not known"));
    };
    session.applied = true;
    let timeout = session.timeout;
    let label = change.label();
    let result = while_held(timeout, async || step(change, session, &node, vmid).await).await;
    match (change, result) {
        (_, Ok(())) => {}
        // removed by someone else, or by a call whose answer was lost
        (Change::Remove { .. }, Err(error)) if error.is_gone() => {}
        // taken by a call whose answer was lost; whether it is whole is looked at afterwards
        (Change::Take { .. }, Err(error)) if matches!(error.kind(), Some(Kind::Exists)) => {}
        (_, Err(error)) => {
            // what came of it is read again, as at the beginning
            session.applied = false;
            return Err(session.failure(label, error));
        }
    }
    if let Change::Rollback { runs: true, .. } = change {
        running(session, label, &node, vmid).await?;
    }
    Ok(())
}

async fn step(
    change: &Change,
    session: &mut Session,
    node: &NodeName,
    vmid: Vmid,
) -> Result<(), Error> {
    let qemu = session.qemu(node, vmid);
    let upid = match change {
        Change::Take { name, description, memory, .. } => {
            let form = Form::new().maybe("description", description.as_ref());
            let form = if *memory { form.flag("vmstate", true) } else { form };
            qemu.create_snapshot(name, form).await?
        }
        Change::Describe { name, description, .. } => {
            return qemu.describe_snapshot(name, description).await;
        }
        Change::Remove { name, force, .. } => qemu.delete_snapshot(name, *force).await?,
        Change::Rollback { name, runs, .. } => {
            let form = if *runs { Form::new().flag("start", true) } else { Form::new() };
            qemu.rollback(name, &form).await?
        }
    };
    session.follow(&upid).await
}

/// PVE starts the machine in a task of its own, after that of going back.
async fn running(
    session: &Session,
    label: &str,
    node: &NodeName,
    vmid: Vmid,
) -> Result<(), Failure> {
    let mut pauses = Pauses::new(session.timeout);
    loop {
        let status = session.qemu(node, vmid).status().await;
        match status {
            Ok(status) if status.is_running() => return Ok(()),
            Err(error) if !error.is_transport() => return Err(session.failure(label, error)),
            _ => {}
        }
        if !pauses.pause().await {
            return Err(Failure::new(format!(
                "{label} went back, and did not start within {} s: look at its last task on {node}",
                session.timeout.as_secs()
            )));
        }
    }
}
