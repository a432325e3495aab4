//! Proving that a file that is there has the content that is asked for.
//!
//! PVE lets nobody read a file of a storage back, and keeps no checksum of it. But a node that is
//! told to download to a name that is taken, with a checksum, takes the checksum of the file that is
//! there, says whether it is that, and fetches nothing (`PVE::Tools::download_file_from_url`).
//!
//! Where that cannot be asked for (no checksum of the file on the storage is known, or a caller who
//! uploads may not let nodes fetch), the source is transferred anew under a temporary name, and the
//! old file compared with it by all that PVE tells of both.

use ansible_module::Failure;
use images::Checksum;
use pve_client::{Form, Kind};
use pve_types::{NodeName, VolId};

use crate::found::{Found, Proof};
use crate::names;
use crate::observe::present;
use crate::privileges;
use crate::request::Origin;
use crate::source;
use crate::target::Session;
use crate::transfer::bring;

/// What is never fetched: the node is asked about a file that it has.
const NOWHERE: &str = "http://localhost:9/";

/// What PVE tells of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Told {
    size: Option<u64>,
    format: Option<String>,
    disk: Option<u64>,
}

/// Whether a node can be asked for the checksum of the file that it has.
pub(crate) async fn is_asked(session: &Session, node: &NodeName) -> bool {
    match &session.request.origin {
        // of what a node decompresses only the checksum before that is known
        Some(Origin::Node { compression, .. }) => {
            compression.is_none() && session.request.checksum.is_some()
        }
        Some(Origin::Upload { .. }) => privileges::may_fetch(session, node).await,
        None => false,
    }
}

/// Asks a node whether its file has the checksum that is wanted; tells nothing if it does not say.
///
/// # Errors
/// When the node cannot be asked.
pub(crate) async fn ask(
    session: &mut Session,
    found: &Found,
    node: &NodeName,
) -> Result<Option<Proof>, Failure> {
    let context = format!("failed to verify {} on {node}", found.label());
    source::prepare(session).await.map_err(|failure| failure.context(&context))?;
    let url = match &session.request.origin {
        Some(Origin::Node { url, .. }) => url.clone(),
        _ => NOWHERE.to_owned(),
    };
    let wanted = match &session.prepared {
        Some(prepared) => Some(prepared.checksum.clone()),
        None => session.request.checksum.clone(),
    };
    let Some(wanted) = wanted else { return Ok(None) };
    match compared(session, found, node, &url, &wanted).await {
        Ok(()) => Ok(Some(Proof::Same)),
        Err(error) => match error.kind() {
            Some(Kind::Checksum) => {
                Ok(Some(Proof::Other(format!("it has other content than {wanted}: {error}"))))
            }
            // a node that does not look at the file
            Some(Kind::Exists) => Ok(None),
            _ => Err(Failure::from(error).context(&context)),
        },
    }
}

async fn compared(
    session: &mut Session,
    found: &Found,
    node: &NodeName,
    url: &str,
    wanted: &Checksum,
) -> Result<(), pve_client::Error> {
    let form = Form::new()
        .text("url", url)
        .text("content", session.request.content.word())
        .text("filename", &found.name)
        .text("checksum-algorithm", wanted.algorithm().word())
        .text("checksum", wanted.hex());
    let upid = session.storage(node).download_url(&form).await?;
    session.follow_bytes(&upid, found.size_on(node)).await
}

/// Compares the file on a node with a fresh transfer, of which nothing is left.
///
/// # Errors
/// When the transfer fails.
pub(crate) async fn transfer(
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
    if proof == Proof::Same {
        session.run.warn(format!(
            "{} on {node} has the size, format and disk of a fresh transfer, and nothing more could \
             be compared: the node was not asked for its checksum, since {}",
            found.label(),
            match &session.request.origin {
                Some(Origin::Upload { .. }) => "that takes Sys.AccessNetwork on the node",
                _ => "that of the file on the storage is not known",
            }
        ));
    }
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
