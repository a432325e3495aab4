//! A machine made: from its configuration, from another machine, or from a backup.

use ansible_module::Failure;
use pve_client::{Error, Form, Kind, Pauses, View, still_locked};
use pve_types::{NodeName, Upid, Vmid};

use crate::change::{Change, Creation, From};
use crate::observe;
use crate::params::Params;
use crate::plan::update::{self, Making};
use crate::target::{Session, failure};
use crate::wanted::wanted;

/// How often another number is tried when others take the free one first.
const RACES: u32 = 25;

/// Makes the machine. Without a number of its own it takes the next free one; when another task was
/// first to take it, another one is tried: what has that number now is not ours.
///
/// # Errors
/// When it was not made.
pub(super) async fn create(creation: &Creation, session: &mut Session) -> Result<(), Failure> {
    let mut pauses = Pauses::new(session.timeout);
    let mut races = 0;
    let mut creation = creation.clone();
    loop {
        let vmid = match creation.vmid {
            Some(vmid) => vmid,
            None => session.client.next_id(None).await.map_err(failure)?,
        };
        let made = match send(&creation, vmid, session).await {
            Ok(upid) => session.follow(&upid).await,
            Err(error) => Err(error),
        };
        let Err(error) = made else {
            session.known = Some((creation.node.clone(), vmid));
            return Ok(());
        };
        match error.kind() {
            // a default of ours is no reason to fail: old servers do not know it, some keep it for root
            Some(Kind::RootOnly | Kind::Parameter) if is_unasked(&creation, &error) => {
                creation.config.remove("ciupgrade");
                creation.from = From::Config { unasked: false };
                session.run.warn(format!(
                    "the server does not take ciupgrade, so packages may be upgraded at the first \
                     start: {error}"
                ));
            }
            Some(Kind::Exists) if creation.vmid.is_none() && races < RACES => races += 1,
            // what is copied is locked, which says nothing about the new machine
            Some(Kind::Locked(lock)) => {
                if !pauses.pause().await {
                    let text = still_locked(source(&creation), lock, session.timeout);
                    return Err(Failure::new(text));
                }
            }
            Some(Kind::LockTimeout) => match left_of(session, &creation.node, vmid).await {
                None if pauses.pause().await => {}
                None => return Err(failure(error)),
                Some(lock) => {
                    return Err(failure(error).context(&format!(
                        "vm {vmid} on {} was left half made{lock}, and was not touched again",
                        creation.node
                    )));
                }
            },
            _ => return Err(failure(error)),
        }
    }
}

fn is_unasked(creation: &Creation, error: &Error) -> bool {
    creation.from == From::Config { unasked: true } && error.to_string().contains("ciupgrade")
}

fn source(creation: &Creation) -> &str {
    match &creation.from {
        From::Clone { label, .. } => label,
        From::Config { .. } | From::Archive { .. } => &creation.label,
    }
}

async fn send(creation: &Creation, vmid: Vmid, session: &Session) -> Result<Upid, Error> {
    let form = Form::new().maybe("pool", creation.pool.as_ref());
    let node = session.client.node(&creation.node);
    match &creation.from {
        From::Config { .. } => {
            let config = creation.config.iter();
            let form = config.fold(form, |form, (key, value)| form.text(key, value));
            node.create_qemu(vmid, form).await
        }
        From::Archive { archive, storage, unique } => {
            let form = form.text("archive", archive.to_string()).maybe("storage", storage.as_ref());
            node.create_qemu(vmid, if *unique { form.flag("unique", true) } else { form }).await
        }
        From::Clone { node, vmid: of, full, storage, format, snapname, .. } => {
            let target = (*node != creation.node).then_some(&creation.node);
            let form = form
                .flag("full", *full)
                .maybe("name", creation.config.get("name"))
                .maybe("target", target)
                .maybe("storage", storage.as_ref())
                .maybe("format", *format)
                .maybe("snapname", snapname.as_ref());
            session.client.node(node).qemu(*of).clone_to(vmid, form).await
        }
    }
}

/// What was left of a making that failed: nothing, or a machine, with its lock.
async fn left_of(session: &Session, node: &NodeName, vmid: Vmid) -> Option<String> {
    match session.client.node(node).qemu(vmid).config(View::Current).await {
        Ok(config) => {
            Some(config.get("lock").map(|lock| format!(" (lock {lock})")).unwrap_or_default())
        }
        Err(error) if error.is_gone() => None,
        Err(error) => Some(format!(" ({error})")),
    }
}

/// Gives a machine that was just made what the task says beyond its source. It is compared itself:
/// it has addresses and volumes that nobody could foretell.
///
/// # Errors
/// When it cannot be read, or a difference cannot be written.
pub(super) async fn settle(params: &Params, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = super::known(session)?;
    let guest = observe::fresh(session, &node, vmid).await?;
    session.wrote = false;
    for change in update::plan(params, &wanted(params)?, &guest, Making::Done)? {
        match &change {
            Change::Set(edit) => super::set(edit, session).await?,
            Change::Grow { disk, to, label, .. } => {
                // a storage that was too slow is looked at by the step that foretold this
                if super::resize(disk, *to, label, session).await?.is_none() {
                    session.grown.insert(disk.clone(), *to);
                }
            }
            other => Box::pin(super::apply(other, params, session)).await?,
        }
        session.wrote = true;
    }
    Ok(())
}
