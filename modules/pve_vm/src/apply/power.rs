//! Running, or not.

use ansible_module::Failure;
use pve_client::{Error, Form, GuestStatus, Kind, Pauses, Qemu};

use crate::change::{Action, Patience};
use crate::plan::cloudinit::is_cloudinit;
use crate::target::{Session, failure, while_locked};

/// Does it.
///
/// # Errors
/// When the server would not, or it did not end well.
pub(super) async fn act(
    action: &Action,
    label: &str,
    session: &mut Session,
) -> Result<(), Failure> {
    let (node, vmid) = super::known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    match action {
        Action::Restart { patience, .. } => restart(qemu, *patience, label, session).await,
        Action::RestartIfPending(patience) => {
            let pending = qemu.pending().await.map_err(failure)?;
            let waits = pending.iter().any(|item| {
                (item.pending.is_some() || item.delete.is_some_and(|delete| delete > 0))
                    && !is_cloudinit(&item.key)
            });
            if waits { restart(qemu, *patience, label, session).await } else { Ok(()) }
        }
        action => once(qemu, action, label, session).await,
    }
}

/// One call and its task.
async fn once(
    qemu: Qemu<'_>,
    action: &Action,
    label: &str,
    session: &mut Session,
) -> Result<(), Failure> {
    while_locked(session, label, async |session| {
        let upid = match action {
            Action::Resume => qemu.resume().await,
            Action::Pause => qemu.suspend(&Form::new()).await,
            Action::Hibernate => qemu.suspend(&Form::new().flag("todisk", true)).await,
            Action::Shutdown(Patience { timeout, force }) => {
                let form = Form::new().number("timeout", *timeout).flag("forceStop", *force);
                qemu.shutdown(&form).await
            }
            _ => qemu.start(&Form::new()).await,
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
            | (Some(Kind::NotRunning), Action::Shutdown(_)) => Ok(()),
            _ => ended,
        }
    })
    .await
}

/// Waits until the HA manager has done what was wished; what it has not done by the deadline shows
/// when the machine is looked at again.
async fn settle(session: &Session, qemu: Qemu<'_>, action: &Action) -> Result<(), Error> {
    let wanted = !matches!(action, Action::Shutdown(_));
    let mut pauses = Pauses::new(session.timeout);
    while qemu.status().await?.is_running() != wanted {
        if !pauses.pause().await {
            break;
        }
    }
    Ok(())
}

/// Shuts the machine down and starts it. PVE's task for that ends when the machine is down; another
/// one, of root's own, starts it about a second later, so only a new process says that it is done.
async fn restart(
    qemu: Qemu<'_>,
    patience: Patience,
    label: &str,
    session: &mut Session,
) -> Result<(), Failure> {
    if patience.force {
        // a reboot has no hard end
        once(qemu, &Action::Shutdown(patience), label, session).await?;
        return once(qemu, &Action::Start, label, session).await;
    }
    let before = qemu.status().await.map_err(failure)?;
    let asked = while_locked(session, label, async |session| {
        let form = Form::new().number("timeout", patience.timeout);
        let upid = match qemu.reboot(&form).await {
            Ok(upid) => upid,
            // whether it was taken shows in the process
            Err(Error::MaybeSent { .. }) => return Ok(()),
            Err(error) => return Err(error),
        };
        session.follow(&upid).await
    });
    asked.await?;
    let mut pauses = Pauses::new(session.timeout);
    loop {
        match qemu.status().await {
            Ok(now) if now.is_running() && is_new(&before, &now) => return Ok(()),
            Ok(_) => {}
            Err(error) if error.is_transport() => {}
            Err(error) => return Err(failure(error)),
        }
        if !pauses.pause().await {
            return Err(Failure::new(format!(
                "{label} did not run again within {} s after it was shut down: look at the task \
                 qmstart of root@pam on its node",
                session.timeout.as_secs()
            )));
        }
    }
}

/// Whether it is another process than before.
fn is_new(before: &GuestStatus, now: &GuestStatus) -> bool {
    match (before.pid, now.pid) {
        (Some(before), Some(now)) => before != now,
        _ => now.uptime < before.uptime,
    }
}
