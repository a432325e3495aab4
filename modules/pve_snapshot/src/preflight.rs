//! What can be known to stand against a plan, looked for before the first write.

use ansible_module::Failure;
use pve_client::View;
use pve_types::property::Disk;
use pve_types::{DISK_BUSES, slot};

use crate::change::Change;
use crate::found::Guest;
use crate::target::Session;

/// Looks for everything that is wrong, and says all of it at once. Costs nothing without a change.
///
/// # Errors
/// When something stands against the plan.
pub(crate) async fn check(
    session: &Session,
    guest: &Guest,
    plan: &[Change],
) -> Result<(), Failure> {
    if plan.is_empty() {
        return Ok(());
    }
    let mut problems = Vec::new();
    problems.extend(privileges(session, guest, plan).await);
    if plan.iter().any(|change| matches!(change, Change::Take { .. })) {
        problems.extend(feature(session, guest).await);
    }
    if problems.is_empty() { Ok(()) } else { Err(Failure::new(problems.join("; "))) }
}

async fn privileges(session: &Session, guest: &Guest, plan: &[Change]) -> Option<String> {
    let path = format!("/vms/{}", guest.vmid);
    // what cannot be asked is left to the call itself
    let granted = session.client.permissions(Some(&path)).await.ok()?;
    let mut lacking: Vec<&str> = Vec::new();
    for change in plan {
        // one is enough; the start after going back is part of PVE's task and needs no other
        let any: &[&str] = match change {
            Change::Rollback { .. } => &["VM.Snapshot.Rollback", "VM.Snapshot"],
            _ => &["VM.Snapshot"],
        };
        if !any.iter().any(|privilege| granted.has(&path, privilege)) && !lacking.contains(&any[0])
        {
            lacking.push(any[0]);
        }
    }
    (!lacking.is_empty()).then(|| {
        format!(
            "{} lacks {} on {path}: grant a role that has it there; a token with privilege \
             separation needs it for itself as well",
            session.client.caller(),
            lacking.join(", ")
        )
    })
}

async fn feature(session: &Session, guest: &Guest) -> Option<String> {
    let qemu = session.qemu(&guest.node, guest.vmid);
    // who may not ask is told by the task itself
    if qemu.can_snapshot().await.unwrap_or(true) {
        return None;
    }
    let config = qemu.config(View::Current).await.unwrap_or_default();
    let drive = |key: &str| slot(key).is_some_and(|(family, _)| DISK_BUSES.contains(&family));
    let disks: Vec<String> = config
        .iter()
        .filter(|(key, _)| drive(key))
        .filter_map(|(key, line)| {
            let disk = Disk::new(line);
            let volume = disk.volume()?.to_string();
            (!disk.is_cdrom()).then(|| format!("{key} {volume}"))
        })
        .collect();
    Some(format!(
        "{} cannot have snapshots: PVE says that not every disk of it can ({}); on a storage of \
         directories only qcow2 files can",
        guest.label(),
        disks.join(", ")
    ))
}
