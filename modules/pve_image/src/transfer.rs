//! Bringing the file to a node, under a name.

use std::io::{Seek, SeekFrom};
use std::time::Instant;

use ansible_module::Failure;
use images::shown;
use pve_client::{Error, Form, Kind, Pauses, Upload};
use pve_types::{NodeName, Upid};

use crate::observe::{is_lost, present};
use crate::request::Origin;
use crate::source;
use crate::target::{Session, Transfer};

/// The tasks that bring a file of this name to a node.
pub(crate) async fn under_way(session: &Session, node: &NodeName, name: &str) -> Vec<Upid> {
    // what may not be seen is not waited for
    let tasks = session.client.node(node).running_tasks("download").await.unwrap_or_default();
    tasks.into_iter().filter(|upid| upid.id == name).collect()
}

/// Brings the file to a node. When that fails, the storage is as it was.
///
/// # Errors
/// When the file is not there in the end.
pub(crate) async fn bring(
    session: &mut Session,
    node: &NodeName,
    name: &str,
) -> Result<(), Failure> {
    let volid = session.request.volid(name);
    let before = present(session, node, &volid).await?;
    let started = Instant::now();
    let result = match session.request.origin.clone() {
        Some(Origin::Node { url, compression }) => {
            download(session, node, name, &url, compression).await
        }
        Some(Origin::Upload { .. }) => upload(session, node, name).await,
        None => return Err(Failure::new("nothing says where the file comes from")),
    };
    match result {
        Ok(bytes) => {
            let time = started.elapsed();
            session.transfers.insert(node.clone(), Transfer { bytes, time });
            Ok(())
        }
        Err(error) => {
            // a copy that was cut off on the node, for want of room, would be taken for the file; what
            // is refused for its name or its checksum never got there: another's file is there
            if before.is_none()
                && matches!(error, Error::Task(_))
                && !matches!(error.kind(), Some(Kind::Exists | Kind::Checksum))
                && let Ok(Some(_)) = present(session, node, &volid).await
            {
                session.remove(node, &volid).await.ok();
            }
            Err(failed(session, error, node, name).await)
        }
    }
}

/// A failure of a transfer. When nobody knows its outcome, the end of what was begun is awaited, and
/// the state read again.
async fn failed(session: &mut Session, error: Error, node: &NodeName, name: &str) -> Failure {
    let lost = is_lost(&error);
    let taken = matches!(error.kind(), Some(Kind::Exists));
    if lost {
        settle(session, node, name).await;
    }
    let mut failure = Failure::from(error);
    if let Some(Origin::Node { url, .. }) = &session.request.origin {
        failure = failure.context(&format!("from {}", shown(url)));
    }
    // another run was faster
    if taken {
        failure.stale()
    } else if lost {
        failure.perhaps_done()
    } else {
        failure
    }
}

/// Waits until nothing of ours is under way on a node.
async fn settle(session: &mut Session, node: &NodeName, name: &str) {
    let mut pauses = Pauses::new(session.stall);
    loop {
        let mut busy = under_way(session, node, name).await;
        // the task of an upload does not say of which file it is, and runs on the node that was asked
        for row in session.client.nodes().await.unwrap_or_default() {
            let uploads = session.client.node(&row.node).running_tasks("imgcopy").await;
            busy.extend(uploads.unwrap_or_default());
        }
        if busy.is_empty() || !pauses.pause().await {
            return;
        }
    }
}

async fn download(
    session: &mut Session,
    node: &NodeName,
    name: &str,
    url: &str,
    compression: Option<&str>,
) -> Result<u64, Error> {
    let checksum = session.request.checksum.as_ref();
    let form = Form::new()
        .text("url", url)
        .text("content", session.request.content.word())
        .text("filename", name)
        .maybe("checksum-algorithm", checksum.map(|sum| sum.algorithm().word()))
        .maybe("checksum", checksum.map(|sum| sum.hex()))
        .maybe("compression", compression);
    let upid = session.storage(node).download_url(&form).await?;
    session.follow_bytes(&upid, session.expected.unwrap_or(0)).await?;
    Ok(0)
}

async fn upload(session: &mut Session, node: &NodeName, name: &str) -> Result<u64, Error> {
    let unread =
        |reason: String| Error::Unfinished { file: name.to_owned(), sent: 0, size: 0, reason };
    source::prepare(session).await.map_err(|failure| unread(failure.message().to_owned()))?;
    let Some(prepared) = &session.prepared else {
        return Err(unread("there is nothing to send".to_owned()));
    };
    let mut file = prepared
        .file
        .try_clone()
        .and_then(|mut file| file.seek(SeekFrom::Start(0)).map(|_| file))
        .map(tokio::fs::File::from_std)
        .map_err(|error| unread(error.to_string()))?;
    let upload = Upload {
        content: session.request.content.word(),
        filename: name,
        size: prepared.size,
        checksum: Some((prepared.checksum.algorithm().word(), prepared.checksum.hex())),
        stall: session.stall,
    };
    let sent = session.storage(node).upload(&upload, &mut file, &mut |_| {}).await?;
    session.follow_bytes(&sent.upid, sent.bytes).await?;
    Ok(sent.bytes)
}
