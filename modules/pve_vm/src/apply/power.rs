//! Running, or not.

use ansible_module::Failure;
use pve_client::{Error, Form, Kind, Qemu};

use crate::target::{Pauses, Session, while_locked};

/// What is done about a machine's power.
#[derive(Debug, Clone, Copy)]
pub(super) enum Action {
    Start,
    Resume,
    Shutdown { timeout: u64, force: bool },
}

/// Does it.
///
/// # Errors
/// When the server would not, or it did not end well.
pub(super) async fn act(action: Action, label: &str, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = super::place(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    while_locked(session, label, async |session| {
        let upid = match action {
            Action::Start => qemu.start(&Form::new()).await,
            Action::Resume => qemu.resume().await,
            Action::Shutdown { timeout, force } => {
                let form = Form::new().number("timeout", timeout).flag("forceStop", force);
                qemu.shutdown(&form).await
            }
        };
        let ended = match upid {
            Ok(upid) => match session.follow(&upid).await {
                // a task of HA only notes the wish; its manager acts on it later
                Ok(()) if upid.kind.starts_with("ha") => settle(session, qemu, action).await,
                ended => ended,
            },
            Err(error) => Err(error),
        };
        match (ended.as_ref().err().and_then(Error::kind), action) {
            (Some(Kind::AlreadyRunning), Action::Start)
            | (Some(Kind::NotRunning), Action::Shutdown { .. }) => Ok(()),
            _ => ended,
        }
    })
    .await
}

/// Waits until the HA manager has done what was wished; what it has not done by the deadline shows
/// when the machine is looked at again.
async fn settle(session: &Session, qemu: Qemu<'_>, action: Action) -> Result<(), Error> {
    let wanted = !matches!(action, Action::Shutdown { .. });
    let mut pauses = Pauses::new(session.timeout);
    while qemu.status().await?.is_running() != wanted {
        if !pauses.pause().await {
            break;
        }
    }
    Ok(())
}
