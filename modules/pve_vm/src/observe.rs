//! What is there. Reads only.

use ansible_module::Failure;
use pve_client::{Error, Form, Pauses, same_name, still_locked};
use pve_types::{NodeName, Vmid};
use serde::Deserialize;

use crate::found::{Found, Guest};
use crate::identity;
use crate::params::{Params, State};
use crate::plan::plan;
use crate::preflight;
use crate::source;
use crate::target::{Session, failure};
use crate::wait;

/// Reads the state. When there is nothing left to change, what is asked for by `wait_for` is waited
/// for; when there is, all that can be known to stand against it is looked for first.
///
/// # Errors
/// When the state cannot be read, is not reached in time, or something stands against the plan.
pub(crate) async fn observe(params: &Params, session: &mut Session) -> Result<Found, Failure> {
    session.wrote = false;
    if std::mem::take(&mut session.lost) {
        idle(session).await;
    }
    let guest = read(params, session).await?;
    let source = match &guest {
        None => source::find(params, session).await?,
        Some(_) => None,
    };
    let mut found = Found { guest, source, address: None };
    let planned = plan(params, &found);
    let nothing = planned.as_ref().map_or(true, Vec::is_empty);
    if found.guest.is_none() && nothing && params.state != State::Current && !session.applied {
        seen(params, session).await?;
    }
    let mut changes = planned?;
    let lock = found.guest.as_ref().and_then(|guest| Some((guest.label(), guest.lock.clone()?)));
    match lock.filter(|(_, lock)| is_in_the_way(lock) && !changes.is_empty()) {
        Some((label, lock)) if session.run.check_mode => {
            session
                .run
                .warn(format!("{label} is locked ({lock}): a run would wait for that first"));
        }
        Some(_) => {
            found.guest = unlocked(params, session, found.guest).await?;
            changes = plan(params, &found)?;
        }
        None => {}
    }
    let done = changes.iter().all(|change| session.applied && change.is_settled());
    if done || session.run.check_mode {
        found.address = wait::address(params, session, found.guest.as_ref()).await?;
    }
    if !changes.is_empty() && !session.applied {
        preflight::check(session, &found, &changes).await?;
    }
    Ok(found)
}

#[derive(Deserialize)]
struct TaskRow {
    #[serde(default)]
    id: String,
    #[serde(default)]
    endtime: Option<u64>,
}

/// Waits until no task of the machine is under way: one whose UPID was lost may still be at work.
async fn idle(session: &Session) {
    let Some((node, vmid)) = &session.known else { return };
    let path = format!("/nodes/{node}/tasks");
    let query = Form::new().text("source", "active").number("vmid", vmid.get());
    let mut pauses = Pauses::new(session.timeout);
    loop {
        // where the list cannot be read, the state is all there is
        let Ok(rows) = session.client.get::<Vec<TaskRow>>(&path, &query).await else { return };
        let busy = rows.iter().any(|row| row.endtime.is_none() && row.id == vmid.get().to_string());
        if !busy || !pauses.pause().await {
            return;
        }
    }
}

/// Makes sure that a machine that seems not to be there is not one that the caller may not see.
async fn seen(params: &Params, session: &Session) -> Result<(), Failure> {
    let unsure = session.client.not_hidden(params.vmid()).await.map_err(identity::not_found)?;
    unsure.into_iter().for_each(|text| session.run.warn(text));
    Ok(())
}

/// Reads the machine, where it is now.
async fn read(params: &Params, session: &mut Session) -> Result<Option<Guest>, Failure> {
    let mut pauses = Pauses::new(std::time::Duration::from_secs(5));
    loop {
        let place = match &session.known {
            Some(place) => Some(place.clone()),
            None => identity::find(params, session).await?,
        };
        let Some((node, vmid)) = place else { return Ok(None) };
        match load(session, &node, vmid).await {
            Ok(guest) if is_being_made(&guest) => {
                // its configuration is not yet what it will be, its name included
                return unlocked(params, session, Some(guest)).await;
            }
            Ok(guest) => return accept(params, session, guest).map(Some),
            // moved since the list was made, or removed: look again where it is
            Err(error) if error.is_gone() => {
                let known = session.known.take().is_some();
                if !pauses.pause().await {
                    return if known { Ok(None) } else { Err(gone(&error, &node, vmid)) };
                }
            }
            Err(error) => {
                let what = format!("failed to read vm {vmid} on {node}");
                return Err(failure(error).context(&what));
            }
        }
    }
}

fn gone(error: &Error, node: &NodeName, vmid: Vmid) -> Failure {
    Failure::new(format!("vm {vmid} is listed on {node}, but it is not there: {error}"))
}

fn accept(params: &Params, session: &mut Session, guest: Guest) -> Result<Guest, Failure> {
    same_name(params.name.as_deref(), guest.vmid, guest.name()).map_err(identity::not_found)?;
    if let Some(node) = params.node().filter(|node| **node != guest.node && !params.migrate) {
        session.run.warn(format!(
            "{} is on {}, not on {node}; it was worked on where it is and not moved, which migrate \
             would do",
            guest.label(),
            guest.node
        ));
    }
    session.known = Some((guest.node.clone(), guest.vmid));
    unchanged_since(params, session, &guest)?;
    Ok(guest)
}

/// Makes sure that the configuration is still the one that the task was written for; what this run
/// itself wrote has changed it since.
fn unchanged_since(params: &Params, session: &Session, guest: &Guest) -> Result<(), Failure> {
    let (Some(wanted), false) = (&params.digest, session.applied) else { return Ok(()) };
    if guest.digest.as_ref() == Some(wanted) {
        return Ok(());
    }
    let is = guest.digest.as_ref().map_or_else(|| "none".to_owned(), ToString::to_string);
    Err(Failure::new(format!(
        "the configuration of {} has the digest {is}, not {wanted}: it was changed since that was \
         read; nothing was done, so read it again and decide anew",
        guest.label()
    )))
}

/// Whether it has only a lock and a number yet. A copy is locked for the time of the copying; a
/// restored machine as one that is created.
fn is_being_made(guest: &Guest) -> bool {
    match guest.lock.as_deref() {
        Some("create") => true,
        Some("clone") => guest.name().is_empty(),
        _ => false,
    }
}

/// The settings of a machine that was just made, once the making is over.
///
/// # Errors
/// When it cannot be read, or stays locked.
pub(crate) async fn fresh(
    session: &Session,
    node: &NodeName,
    vmid: Vmid,
) -> Result<Guest, Failure> {
    let qemu = session.client.node(node).qemu(vmid);
    let mut pauses = Pauses::new(session.timeout);
    loop {
        let mut guest = Guest::unread(node.clone(), vmid);
        let trouble = match qemu.pending().await {
            Ok(items) => {
                guest.set_pending(items);
                guest.lock = guest.running_config.get("lock").cloned();
                guest.lock.clone()
            }
            // one that was made for another node shows there a moment later
            Err(error) if error.is_gone() && pauses.pause().await => continue,
            Err(error) => {
                let what = format!("failed to read vm {vmid} on {node}");
                return Err(failure(error).context(&what));
            }
        };
        match trouble {
            None => return Ok(guest),
            Some(lock) if !pauses.pause().await => {
                return Err(held(session, &guest, &lock));
            }
            Some(_) => {}
        }
    }
}

async fn load(session: &Session, node: &NodeName, vmid: Vmid) -> Result<Guest, Error> {
    let qemu = session.client.node(node).qemu(vmid);
    let status = qemu.status().await?;
    let mut guest = Guest {
        running: status.is_running(),
        ha_managed: status.is_managed_by_ha(),
        status: status.word().to_owned(),
        lock: status.lock,
        ..Guest::unread(node.clone(), vmid)
    };
    guest.set_pending(qemu.pending().await?);
    if let Some(lock) = guest.running_config.get("lock") {
        guest.lock = Some(lock.clone());
    }
    Ok(guest)
}

/// Whether a lock is another task's. A hibernated machine keeps its own until it is resumed, which
/// that does not hinder.
fn is_in_the_way(lock: &str) -> bool {
    lock != "suspended"
}

/// The failure of a machine that another task holds for longer than is waited.
fn held(session: &Session, guest: &Guest, lock: &str) -> Failure {
    Failure::new(still_locked(&guest.label(), lock, session.timeout))
}

/// Waits until the machine is not locked any more. The lock itself is never touched.
async fn unlocked(
    params: &Params,
    session: &mut Session,
    guest: Option<Guest>,
) -> Result<Option<Guest>, Failure> {
    let Some(mut guest) = guest else { return Ok(None) };
    let mut pauses = Pauses::new(session.timeout);
    while let Some(lock) = guest.lock.clone().filter(|lock| is_in_the_way(lock)) {
        if !pauses.pause().await {
            return Err(held(session, &guest, &lock));
        }
        match load(session, &guest.node, guest.vmid).await {
            Ok(again) => guest = again,
            // a creation that failed takes its configuration away again
            Err(error) if error.is_gone() => return Ok(None),
            Err(error) => {
                let what = format!("failed to read {}", guest.label());
                return Err(failure(error).context(&what));
            }
        }
    }
    accept(params, session, guest).map(Some)
}
