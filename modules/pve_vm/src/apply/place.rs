//! Where a machine and its disks are.

use ansible_module::Failure;
use pve_client::{Form, Pauses};
use pve_types::StorageId;

use crate::change::Migration;
use crate::target::{Session, failure, while_locked};

/// Moves the machine to another node. What follows is done there.
///
/// # Errors
/// When it did not get there.
pub(super) async fn migrate(migration: &Migration, session: &mut Session) -> Result<(), Failure> {
    let (node, vmid) = super::known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    let mut form = Form::new().maybe("targetstorage", migration.storage.as_ref());
    if migration.online {
        form = form.flag("online", true);
    }
    if migration.with_local_disks {
        form = form.flag("with-local-disks", true);
    }
    while_locked(session, &migration.label, async |session| {
        let upid = qemu.migrate(&migration.to, form.clone()).await?;
        session.follow(&upid).await
    })
    .await?;
    // its configuration shows there a moment later, and with HA only when the manager has acted
    let there = client.node(&migration.to).qemu(vmid);
    let mut pauses = Pauses::new(session.timeout);
    while let Err(error) = there.status().await {
        if !error.is_gone() || !pauses.pause().await {
            return Err(failure(error));
        }
    }
    session.known = Some((migration.to.clone(), vmid));
    Ok(())
}

/// Moves a disk to another storage; the volume it was is removed once it is copied.
///
/// # Errors
/// When it was not moved.
pub(super) async fn move_disk(
    disk: &str,
    to: &StorageId,
    format: Option<&str>,
    label: &str,
    session: &mut Session,
) -> Result<(), Failure> {
    let (node, vmid) = super::known(session)?;
    let client = session.client.clone();
    let qemu = client.node(&node).qemu(vmid);
    let form =
        Form::new().text("storage", to.as_str()).maybe("format", format).flag("delete", true);
    while_locked(session, label, async |session| {
        let upid = qemu.move_disk(disk, form.clone()).await?;
        session.follow(&upid).await
    })
    .await
}
