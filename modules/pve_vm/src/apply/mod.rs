//! One step done.

mod make;
mod place;
mod power;

use ansible_module::Failure;
use pve_client::{Error, Form, Kind, View};
use pve_types::property::Disk;
use pve_types::{NodeName, Size, Vmid};

use crate::change::{Change, Edit};
use crate::params::Params;
use crate::target::{Session, failure, while_locked};

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
        Change::Create(creation) => make::create(creation, session).await,
        Change::Set(edit) if edit.after_making => make::settle(params, session).await,
        Change::Set(edit) => set(edit, session).await,
        Change::Grow { disk, to, label, .. } => grow(disk, *to, label, session).await,
        Change::Regenerate { label } => {
            let (node, vmid) = known(session)?;
            while_locked(session, label, async |session| {
                session.client.node(&node).qemu(vmid).regenerate_cloudinit().await
            })
            .await
        }
        Change::Migrate(migration) => place::migrate(migration, session).await,
        Change::Move { label, disk, to, format, .. } => {
            place::move_disk(disk, to, format.as_deref(), label, session).await
        }
        Change::Power { label, action } => power::act(action, label, session).await,
        Change::Template { label } => template(label, session).await,
        Change::Destroy { label, .. } => destroy(label, params, session).await,
    };
    session.wrote = true;
    session.lost = result.as_ref().is_err_and(Failure::is_perhaps_done);
    result
}

fn known(session: &Session) -> Result<(NodeName, Vmid), Failure> {
    session.known.clone().ok_or_else(|| Failure::new("the machine is not there any more"))
}

/// Writes differences, with the hash of the configuration that they are differences to.
async fn set(edit: &Edit, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = known(session)?;
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
    if !edit.revert.is_empty() {
        let keys: Vec<&str> = edit.revert.keys().map(String::as_str).collect();
        form = form.text("revert", keys.join(","));
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
    let (node, vmid) = known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    if session.grown.get(disk) == Some(&to) {
        return Ok(());
    }
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
        let slow = resize(disk, to, label, session).await?;
        // a busy storage may have grown it all the same: its size is read before it is tried again
        let Some(error) = slow else { return Ok(()) };
        tries += 1;
        if tries == TRIES {
            let now = now.map_or_else(|| "an unknown size".to_owned(), |size| size.to_string());
            return Err(failure(error).context(&format!("it still has {now}")));
        }
    }
}

/// Grows a disk once; the error is that of a storage that was too slow for the node's own limit.
async fn resize(
    disk: &str,
    to: Size,
    label: &str,
    session: &mut Session,
) -> Result<Option<Error>, Failure> {
    let (node, vmid) = known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    while_locked(session, label, async |session| {
        let upid = qemu.resize(disk, &to.to_string(), Form::new()).await?;
        match session.follow(&upid).await {
            Err(error) if matches!(error.kind(), Some(Kind::CommandTimeout)) => Ok(Some(error)),
            ended => ended.map(|()| None),
        }
    })
    .await
}

async fn template(label: &str, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    while_locked(session, label, async |session| {
        let upid = qemu.template().await?;
        session.follow(&upid).await
    })
    .await
}

async fn destroy(label: &str, params: &Params, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = known(session)?;
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
