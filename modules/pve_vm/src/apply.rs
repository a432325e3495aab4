//! One step done.

use ansible_module::Failure;
use pve_client::{Error, Form, Kind, Qemu, View};
use pve_types::property::Disk;
use pve_types::{NodeName, Size, Vmid};

use crate::change::{Change, Creation, Edit};
use crate::params::Params;
use crate::target::{Pauses, Session, failure, while_locked};

/// How often another number is tried when others take the free one first.
const RACES: u32 = 25;

/// How often a disk is grown when the node's own limit of time is too short.
const TRIES: u32 = 3;

/// Does one step.
///
/// # Errors
/// When the step failed.
pub(crate) async fn apply(
    change: &Change,
    params: &Params,
    session: &mut Session,
) -> Result<(), Failure> {
    session.applied = true;
    let result = match change {
        Change::Create(creation) => create(creation, session).await,
        Change::Set(edit) => set(edit, session).await,
        Change::Grow { disk, to, label, .. } => grow(disk, *to, label, session).await,
        Change::Regenerate { label } => {
            let (node, vmid) = place(session)?;
            while_locked(session, label, async |session| {
                session.client.node(&node).qemu(vmid).regenerate_cloudinit().await
            })
            .await
        }
        Change::Start { label } => power(Action::Start, label, session).await,
        Change::Resume { label } => power(Action::Resume, label, session).await,
        Change::Shutdown { label, timeout, force } => {
            power(Action::Shutdown { timeout: *timeout, force: *force }, label, session).await
        }
        Change::Destroy { label, .. } => destroy(label, params, session).await,
    };
    session.wrote = true;
    result
}

fn place(session: &Session) -> Result<(NodeName, Vmid), Failure> {
    session.known.clone().ok_or_else(|| Failure::new("the machine is not there any more"))
}

/// Makes the machine. Without a number of its own it takes the next free one; when another task was
/// first to take it, another one is tried: what has that number now is not ours.
async fn create(creation: &Creation, session: &mut Session) -> Result<(), Failure> {
    let mut form = Form::new();
    for (key, value) in &creation.config {
        form = form.text(key, value);
    }
    let form = form.maybe("pool", creation.pool.as_ref());
    let mut pauses = Pauses::new(session.timeout);
    let mut races = 0;
    loop {
        let vmid = match creation.vmid {
            Some(vmid) => vmid,
            None => session.client.next_id(None).await.map_err(failure)?,
        };
        let node = session.client.node(&creation.node);
        let made = match node.create_qemu(vmid, form.clone()).await {
            Ok(upid) => session.follow(&upid).await,
            Err(error) => Err(error),
        };
        let Err(error) = made else {
            session.known = Some((creation.node.clone(), vmid));
            return Ok(());
        };
        match error.kind() {
            Some(Kind::Exists) if creation.vmid.is_none() && races < RACES => races += 1,
            Some(Kind::LockTimeout) if is_gone(session, &creation.node, vmid).await => {
                if !pauses.pause().await {
                    return Err(failure(error));
                }
            }
            _ => return Err(failure(error)),
        }
    }
}

/// Whether nothing was left of a creation that failed.
async fn is_gone(session: &Session, node: &NodeName, vmid: Vmid) -> bool {
    let config = session.client.node(node).qemu(vmid).config(View::Current).await;
    config.is_err_and(|error| error.is_gone())
}

/// Writes differences, with the hash of the configuration that they are differences to.
async fn set(edit: &Edit, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = place(session)?;
    let digest = if session.wrote || edit.digest.is_none() {
        // an earlier step of this plan has changed the configuration itself
        let qemu = session.client.node(&node).qemu(vmid);
        qemu.config(View::Pending).await.map_err(failure)?.digest()
    } else {
        edit.digest.clone()
    };
    let mut form = Form::new();
    for (key, value) in &edit.set {
        form = form.text(key, value);
    }
    if !edit.delete.is_empty() {
        let keys: Vec<&str> = edit.delete.iter().map(String::as_str).collect();
        form = form.text("delete", keys.join(","));
    }
    let form = form.digest(digest.as_ref());
    while_locked(session, &edit.label, async |session| {
        let client = session.client.clone();
        let qemu = client.node(&node).qemu(vmid);
        if !edit.allocates {
            return match qemu.set_config(&form).await {
                // what a running machine does not take or let go of is kept as pending
                Err(error) if matches!(error.kind(), Some(Kind::Hotplug)) => {
                    session.run.warn(format!("{error}; it waits for the next stop and start"));
                    Ok(())
                }
                done => done,
            };
        }
        // in a task: PVE's proxy gives a call 30 s, and making volumes may take longer
        match qemu.set_config_async(&form).await? {
            Some(upid) => session.follow(&upid).await,
            None => Ok(()),
        }
    })
    .await
}

/// Grows a disk to its size, if it has not got it yet.
async fn grow(disk: &str, to: Size, label: &str, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = place(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    let mut tries = 0;
    loop {
        let config = qemu.config(View::Pending).await.map_err(failure)?;
        let now = config.get(disk).and_then(|line| Disk::new(line).size());
        match now {
            Some(now) if now == to => return Ok(()),
            Some(now) if now > to => {
                return Err(Failure::new(format!(
                    "it has {now} already, as its image does, and cannot be shrunk: ask for {now} \
                     or more"
                )));
            }
            _ => {}
        }
        let slow = while_locked(session, label, async |session| {
            let upid = qemu.resize(disk, &to.to_string(), Form::new()).await?;
            match session.follow(&upid).await {
                Err(error) if matches!(error.kind(), Some(Kind::CommandTimeout)) => Ok(Some(error)),
                ended => ended.map(|()| None),
            }
        })
        .await?;
        // a busy storage may have grown it all the same: its size is read before it is tried again
        let Some(error) = slow else { return Ok(()) };
        tries += 1;
        if tries == TRIES {
            let now = now.map_or_else(|| "an unknown size".to_owned(), |size| size.to_string());
            return Err(failure(error).context(&format!("it still has {now}")));
        }
    }
}

/// What is done about a machine's power.
#[derive(Debug, Clone, Copy)]
enum Action {
    Start,
    Resume,
    Shutdown { timeout: u64, force: bool },
}

async fn power(action: Action, label: &str, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = place(session)?;
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

async fn destroy(label: &str, params: &Params, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = place(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    let removed = while_locked(session, label, async |session| {
        let upid = qemu.delete(params.purge, params.destroy_unreferenced_disks).await;
        let ended = match upid {
            Ok(upid) => session.follow(&upid).await,
            Err(error) => Err(error),
        };
        match ended {
            Err(error) if error.is_gone() => Ok(()),
            ended => ended,
        }
    })
    .await;
    if removed.is_ok() {
        session.known = None;
    }
    removed
}
