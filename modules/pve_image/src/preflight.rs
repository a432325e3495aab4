//! What stands against a plan, all of it at once, before the first write.

use ansible_module::Failure;
use images::shown;
use pve_types::{NodeName, VolId};

use crate::change::Change;
use crate::found::Found;
use crate::in_use;
use crate::nodes::Seat;
use crate::privileges;
use crate::request::Origin;
use crate::target::Session;

/// What is about to be done.
#[derive(Debug)]
pub(crate) struct Work<'a> {
    /// Where.
    pub(crate) seats: &'a [Seat],
    /// What there is.
    pub(crate) found: &'a Found,
    /// The changes.
    pub(crate) changes: &'a [Change],
    /// The nodes whose file is compared with a fresh transfer.
    pub(crate) proving: &'a [NodeName],
    /// The nodes that are asked for the checksum of their file.
    pub(crate) asking: &'a [NodeName],
    /// Whether the nodes see the same file.
    pub(crate) shared: bool,
}

impl Work<'_> {
    /// The nodes to which bytes are brought.
    pub(crate) fn receiving(&self) -> Vec<&NodeName> {
        let brings = self
            .changes
            .iter()
            .filter(|change| matches!(change, Change::Fetch { .. } | Change::Replace { .. }));
        let mut nodes: Vec<&NodeName> = brings.map(Change::node).chain(self.proving).collect();
        nodes.sort();
        nodes.dedup();
        nodes
    }

    /// Whether something is deleted.
    pub(crate) fn deletes(&self) -> bool {
        !self.proving.is_empty()
            || self.changes.iter().any(|change| match change {
                Change::Fetch { .. } => false,
                Change::Replace { by_node, .. } => *by_node,
                Change::Remove { .. } | Change::Tidy { .. } => true,
            })
    }

    fn is_idle(&self) -> bool {
        self.changes.is_empty() && self.proving.is_empty() && self.asking.is_empty()
    }
}

/// Looks for what stands against the work.
///
/// # Errors
/// Names everything that was found.
pub(crate) async fn check(
    session: &Session,
    work: &Work<'_>,
    mut problems: Vec<String>,
) -> Result<(), Failure> {
    if !work.is_idle() {
        storages(session, work, &mut problems);
        privileges::check(session, work, &mut problems).await;
        if problems.is_empty() {
            address(session, work, &mut problems).await;
        }
        used(session, work, &mut problems).await;
    } else {
        for seat in work.seats.iter().filter(|seat| !seat.is_open()) {
            problems.extend(closed(session, seat));
        }
    }
    problems.dedup();
    match problems.as_slice() {
        [] => Ok(()),
        [one] => Err(Failure::new(format!("before anything was changed: {one}"))),
        many => Err(Failure::new(format!(
            "before anything was changed, {} problems were found: {}",
            many.len(),
            many.join("; ")
        ))
        .with("problems", many)),
    }
}

/// Why a storage cannot be looked into.
fn closed(session: &Session, seat: &Seat) -> Option<String> {
    let (storage, node) = (&session.request.storage, &seat.node);
    let Some(status) = &seat.status else {
        return Some(format!("{node} has no storage {storage} that the caller may use"));
    };
    if !status.enabled {
        return Some(format!("storage {storage} is disabled on {node}"));
    }
    (!status.active).then(|| {
        format!(
            "storage {storage} is not active on {node}: it is not mounted or not reachable there"
        )
    })
}

fn storages(session: &Session, work: &Work<'_>, problems: &mut Vec<String>) {
    let storage = &session.request.storage;
    let content = session.request.content.word();
    let receiving = work.receiving();
    for seat in work.seats {
        let node = &seat.node;
        if let Some(problem) = closed(session, seat) {
            problems.push(problem);
            continue;
        }
        let Some(status) = seat.status.as_ref().filter(|_| receiving.contains(&node)) else {
            continue;
        };
        if !status.holds(content) {
            problems.push(format!(
                "storage {storage} does not hold content {content}: its list is {}; add {content} \
                 to it, for example with pve_storage_content",
                status.content
            ));
        }
        if let Some((needed, free)) = work.found.expected.zip(status.avail) {
            let needed = room(work, node, needed);
            if free < needed {
                problems.push(format!(
                    "storage {storage} has {free} bytes free on {node}, and {needed} are needed"
                ));
            }
        }
    }
}

/// How much is needed at a time. What a node downloads to replace another is there twice in the
/// end, since a name that is taken is not downloaded to and nothing can be renamed.
fn room(work: &Work<'_>, node: &NodeName, size: u64) -> u64 {
    let old = work
        .found
        .copies
        .iter()
        .filter(|copy| copy.node == *node)
        .find_map(|copy| copy.there.and_then(|there| there.size))
        .unwrap_or(0);
    let twice = work.changes.iter().any(
        |change| matches!(change, Change::Replace { node: at, by_node: true, .. } if at == node),
    );
    if twice { size.max((2 * size).saturating_sub(old)) } else { size }
}

/// Whether the node finds the file at its address.
async fn address(session: &Session, work: &Work<'_>, problems: &mut Vec<String>) {
    let Some(Origin::Node { url, .. }) = &session.request.origin else { return };
    for node in work.receiving() {
        let error = match session.client.node(node).url_metadata(url).await {
            Ok(told) => {
                let page = told.mimetype.is_some_and(|kind| kind.starts_with("text/html"));
                if page && session.request.checksum.is_none() {
                    problems.push(format!(
                        "what is at {} is a page (text/html), and no checksum says otherwise",
                        shown(url)
                    ));
                }
                continue;
            }
            Err(error) => error,
        };
        let text = error.to_string();
        // a server may answer the question for the head alone with these, and give the file
        let says_nothing = ["'403 ", "'405 ", "'501 "].iter().any(|code| text.contains(code));
        if !says_nothing && !error.is_transport() {
            problems.push(format!("{node} does not find {}: {text}", shown(url)));
        }
    }
}

/// A file that a machine uses is neither removed nor replaced.
async fn used(session: &Session, work: &Work<'_>, problems: &mut Vec<String>) {
    let mut taken: Vec<(&NodeName, &VolId)> = Vec::new();
    for change in work.changes {
        match change {
            Change::Replace { node, volid, .. } | Change::Remove { node, volid } => {
                taken.push((node, volid));
            }
            Change::Fetch { .. } | Change::Tidy { .. } => {}
        }
    }
    for (node, volid) in taken {
        problems.extend(in_use::users(session, node, volid, work.shared).await);
    }
}
