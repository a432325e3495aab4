//! Comparing a file that is there with the source transferred anew.
//!
//! PVE lets nobody read a file of a storage back, and keeps no checksum of it. The fresh copy is
//! proven by the node's own checksum; the old one is compared with it by all that PVE tells of both.

use ansible_module::Failure;
use pve_types::{NodeName, VolId};

use crate::found::{Found, Proof};
use crate::names;
use crate::observe::present;
use crate::target::Session;
use crate::transfer::bring;

/// What PVE tells of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    size: Option<u64>,
    format: Option<String>,
    disk: Option<u64>,
}

/// Compares the file on a node with a fresh transfer, of which nothing is left.
///
/// # Errors
/// When the transfer fails.
pub(crate) async fn verify(
    session: &mut Session,
    found: &Found,
    node: &NodeName,
) -> Result<Proof, Failure> {
    let temporary = names::temporary(&found.name, &session.mark);
    let fresh = session.request.volid(&temporary);
    let result = compare(session, found, node, &temporary, &fresh).await;
    let cleared = session.remove(node, &fresh).await;
    let context = format!("failed to verify {} on {node}", found.label());
    let proof = result.map_err(|failure| failure.context(&context))?;
    cleared.map_err(|error| {
        Failure::from(error).context(&format!("failed to remove {fresh} from {node}"))
    })?;
    Ok(proof)
}

async fn compare(
    session: &mut Session,
    found: &Found,
    node: &NodeName,
    temporary: &str,
    fresh: &VolId,
) -> Result<Proof, Failure> {
    bring(session, node, temporary).await?;
    let old = session.request.volid(&found.name);
    let (old, new) = (told(session, node, &old).await?, told(session, node, fresh).await?);
    Ok(match difference(&old, &new) {
        None => Proof::Same,
        Some(text) => Proof::Other(text),
    })
}

async fn told(session: &Session, node: &NodeName, volid: &VolId) -> Result<Told, Failure> {
    let row = present(session, node, volid).await?;
    let row = row.ok_or_else(|| Failure::new(format!("{volid} is not there any more")))?;
    // what is in the file is more than its size, where the storage tells it
    let info = session.storage(node).volume(volid).await.ok();
    Ok(Told { size: row.size, format: row.format, disk: info.and_then(|info| info.size) })
}

fn difference(old: &Told, new: &Told) -> Option<String> {
    let numbers = [("bytes", old.size, new.size), ("bytes of disk in it", old.disk, new.disk)];
    for (what, old, new) in numbers {
        if let (Some(old), Some(new)) = (old, new)
            && old != new
        {
            return Some(format!("it has {old} {what}, and a fresh transfer has {new}"));
        }
    }
    match (&old.format, &new.format) {
        (Some(old), Some(new)) if old != new => {
            Some(format!("it is a {old}, and a fresh transfer is a {new}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_that_pve_tells_is_compared() {
        let told = |size, disk, format: &str| Told {
            size: Some(size),
            disk: Some(disk),
            format: Some(format.to_owned()),
        };
        for (old, new, text) in [
            (told(9, 90, "qcow2"), told(9, 90, "qcow2"), None),
            (told(8, 90, "qcow2"), told(9, 90, "qcow2"), Some("it has 8 bytes, and")),
            (told(9, 91, "qcow2"), told(9, 90, "qcow2"), Some("91 bytes of disk in it")),
            (told(9, 90, "raw"), told(9, 90, "qcow2"), Some("it is a raw, and")),
        ] {
            let difference = difference(&old, &new);
            assert_eq!(difference.is_some(), text.is_some());
            assert!(difference.unwrap_or_default().contains(text.unwrap_or_default()));
        }
    }
}
