//! Which machines use a file: it is neither removed nor replaced under them.

use pve_client::{Error, GuestConfig, Qemu, View};
use pve_types::{NodeName, VolId};

use crate::target::Session;

/// The machines that use the file, and those of which nobody can tell, in words. Machines that the
/// caller may not see are not known of.
pub(crate) async fn users(
    session: &Session,
    node: &NodeName,
    volid: &VolId,
    shared: bool,
) -> Vec<String> {
    let rows = match session.client.resources(Some("vm")).await {
        Ok(rows) => rows,
        Err(error) => {
            return vec![format!("it cannot be seen which machines use {volid}: {error}")];
        }
    };
    let mut users = Vec::new();
    for row in rows.iter().filter(|row| row.kind == "qemu") {
        let (Some(vmid), Some(at)) = (row.vmid, &row.node) else { continue };
        // another node's storage of the same name has another file
        if !shared && at != node {
            continue;
        }
        match place(session.client.node(at).qemu(vmid), volid).await {
            Ok(None) => {}
            Ok(Some(place)) => users.push(format!(
                "{volid} is used by vm {vmid} on {at} ({place}): take it out there first"
            )),
            Err(error) if error.is_gone() => {}
            Err(error) => {
                users.push(format!("it cannot be seen whether vm {vmid} uses {volid}: {error}"));
            }
        }
    }
    users
}

/// Where a machine names a file: in what it runs with, in what waits for its next start, or in a
/// snapshot that it may go back to.
async fn place(qemu: Qemu<'_>, volid: &VolId) -> Result<Option<String>, Error> {
    let named = |config: &GuestConfig| {
        config.iter().find(|(_, line)| names(line, volid)).map(|(key, _)| key.clone())
    };
    for view in [View::Current, View::Pending] {
        if let Some(key) = named(&qemu.config(view).await?) {
            return Ok(Some(key));
        }
    }
    for snapshot in qemu.snapshots().await? {
        if snapshot.is_current() {
            continue;
        }
        if let Some(key) = named(&qemu.snapshot_config(&snapshot.name).await?) {
            return Ok(Some(format!("{key} of snapshot {}", snapshot.name)));
        }
    }
    Ok(None)
}

/// Whether a line of a configuration names a volume.
fn names(line: &str, volid: &VolId) -> bool {
    let volid = volid.to_string();
    line.split(',')
        .any(|part| part == volid || part.split_once('=').is_some_and(|(_, value)| value == volid))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_names_a_volume_as_a_whole() {
        let volid = "local:iso/x.iso".parse().unwrap();
        for (line, named) in [
            ("local:iso/x.iso,media=cdrom,size=4M", true),
            ("file=local:iso/x.iso,media=cdrom", true),
            ("local:0,import-from=local:iso/x.iso", true),
            ("local:iso/x.iso2,media=cdrom", false),
            ("other:iso/x.iso", false),
            ("none,media=cdrom", false),
        ] {
            assert_eq!(names(line, &volid), named, "{line}");
        }
    }
}
