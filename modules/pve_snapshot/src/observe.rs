//! What is there. Reads only.

use std::time::Duration;

use ansible_module::Failure;
use pve_client::{Error, Pauses, same_name, still_locked};
use pve_types::{NodeName, Vmid};

use crate::found::{Found, Guest};
use crate::params::{Params, State};
use crate::plan::plan;
use crate::preflight;
use crate::target::{Session, failure};

/// Reads the machine and its snapshots. When there is something to change, a lock is waited for
/// and all that can be known to stand against the plan is looked for first.
///
/// # Errors
/// When the state cannot be read, or something stands against the plan.
pub(crate) async fn observe(params: &Params, session: &mut Session) -> Result<Found, Failure> {
    let mut found = read(params, session).await?;
    if found.is_none() && !session.applied {
        let unsure = session.client.not_hidden(params.vmid).await?;
        unsure.into_iter().for_each(|text| session.run.warn(text));
    }
    let mut changes = plan(params, found.as_ref())?;
    let to_do = |changes: &[_], session: &Session| !changes.is_empty() && !session.applied;
    if let Some(guest) = found.take() {
        let guest = match guest.lock.clone() {
            Some(lock) if lock == "suspended" && to_do(&changes, session) => {
                return Err(Failure::new(format!(
                    "{} is hibernated, and PVE takes or removes no snapshot of it: resume it first",
                    guest.label()
                )));
            }
            Some(lock) if to_do(&changes, session) && session.run.check_mode => {
                let label = guest.label();
                let text = format!("{label} is locked ({lock}): a run would wait for that first");
                session.run.warn(text);
                Some(guest)
            }
            Some(_) if to_do(&changes, session) => unlocked(session, guest).await?,
            _ => Some(guest),
        };
        changes = plan(params, guest.as_ref())?;
        found = guest;
    }
    if let Some(guest) = found.as_ref().filter(|_| !session.applied) {
        preflight::check(session, guest, &changes).await?;
        memory(params, session, guest);
    }
    Ok(found)
}

/// Memory that was asked for and cannot be had is told, and is no failure: a run on a stopped
/// machine would never be content otherwise.
fn memory(params: &Params, session: &Session, guest: &Guest) {
    if !params.vmstate || params.state != State::Present {
        return;
    }
    let label = guest.label();
    match guest.snapshot(&params.snapname) {
        None if !guest.running => {
            session.run.warn(format!("{label} does not run, so the snapshot holds no memory"));
        }
        Some(there) if !there.vmstate => session.run.warn(format!(
            "snapshot {} of {label} is there without memory, and memory cannot be added to it",
            there.name
        )),
        _ => {}
    }
}

async fn read(params: &Params, session: &mut Session) -> Result<Found, Failure> {
    let mut pauses = Pauses::new(Duration::from_secs(5));
    loop {
        let place = match &session.known {
            Some(place) => Some(place.clone()),
            None => {
                let name = params.name.as_deref();
                let alone = params.state != State::Present || params.retention.is_some();
                session.client.find_qemu(params.vmid, name, alone, session.timeout).await?
            }
        };
        let Some((node, vmid)) = place else { return Ok(None) };
        match load(session, &node, vmid).await {
            Ok(guest) => return accept(params, session, guest).map(Some),
            // moved since the list was made, or removed: look again where it is
            Err(error) if error.is_gone() => {
                session.known = None;
                if !pauses.pause().await {
                    return Err(Failure::from(error)
                        .context(&format!("vm {vmid} is listed on {node}, but it is not there")));
                }
            }
            Err(error) => {
                return Err(failure(error).context(&format!("failed to read vm {vmid} on {node}")));
            }
        }
    }
}

fn accept(params: &Params, session: &mut Session, guest: Guest) -> Result<Guest, Failure> {
    same_name(params.name.as_deref(), guest.vmid, &guest.name)?;
    session.known = Some((guest.node.clone(), guest.vmid));
    Ok(guest)
}

async fn load(session: &Session, node: &NodeName, vmid: Vmid) -> Result<Guest, Error> {
    let qemu = session.qemu(node, vmid);
    let status = qemu.status().await?;
    let mut guest = Guest {
        vmid,
        node: node.clone(),
        running: status.is_running(),
        status: status.word().to_owned(),
        name: status.name.unwrap_or_default(),
        template: status.template,
        lock: status.lock,
        snapshots: Vec::new(),
        here: None,
    };
    guest.set_snapshots(qemu.snapshots().await?);
    Ok(guest)
}

/// Waits until the machine is not locked any more. The lock itself is never touched.
async fn unlocked(session: &Session, mut guest: Guest) -> Result<Found, Failure> {
    let mut pauses = Pauses::new(session.timeout);
    while let Some(lock) = guest.lock.clone() {
        if !pauses.pause().await {
            return Err(Failure::new(still_locked(&guest.label(), &lock, session.timeout)));
        }
        match load(session, &guest.node, guest.vmid).await {
            Ok(again) => guest = again,
            Err(error) if error.is_gone() => return Ok(None),
            Err(error) => {
                return Err(failure(error).context(&format!("failed to read {}", guest.label())));
            }
        }
    }
    Ok(Some(guest))
}
