//! What the caller must be allowed, by PVE's own checks (`PVE/API2/Storage`).

use pve_client::Permissions;
use pve_types::NodeName;

use crate::preflight::Work;
use crate::request::Origin;
use crate::target::Session;

/// Looks for privileges that are missing. What cannot be asked is left to the calls themselves.
pub(crate) async fn check(session: &Session, work: &Work<'_>, problems: &mut Vec<String>) {
    let client = &session.client;
    if client.is_root() {
        return;
    }
    let caller = client.caller();
    let path = format!("/storage/{}", session.request.storage);
    if let Ok(granted) = client.permissions(Some(&path)).await {
        let mut lacking = Vec::new();
        let brings = !work.receiving().is_empty() || !work.asking.is_empty();
        if brings && !granted.has(&path, "Datastore.AllocateTemplate") {
            lacking.push("Datastore.AllocateTemplate");
        }
        if work.deletes() && !granted.has(&path, "Datastore.Allocate") {
            lacking.push("Datastore.Allocate");
        }
        if !lacking.is_empty() {
            problems.push(missing(&caller, &lacking.join(", "), &path));
        }
    }
    let by_node = matches!(session.request.origin, Some(Origin::Node { .. }));
    let mut fetching = work.receiving();
    fetching.extend(work.asking);
    fetching.sort();
    fetching.dedup();
    if !by_node || fetching.is_empty() {
        return;
    }
    let Ok(root) = client.permissions(Some("/")).await else { return };
    if on_root(&root) {
        return;
    }
    for node in fetching {
        let path = format!("/nodes/{node}");
        let Ok(granted) = client.permissions(Some(&path)).await else { continue };
        if !granted.has(&path, "Sys.AccessNetwork") {
            problems.push(format!(
                "{}; Sys.Audit with Sys.Modify on / would do as well, and with via=controller none \
                 of them is needed",
                missing(&caller, "Sys.AccessNetwork", &path)
            ));
        }
    }
}

/// Whether the caller may let a node fetch something.
pub(crate) async fn may_fetch(session: &Session, node: &NodeName) -> bool {
    let client = &session.client;
    if client.is_root() {
        return true;
    }
    if client.permissions(Some("/")).await.is_ok_and(|granted| on_root(&granted)) {
        return true;
    }
    let path = format!("/nodes/{node}");
    let granted = client.permissions(Some(&path)).await;
    granted.is_ok_and(|granted| granted.has(&path, "Sys.AccessNetwork"))
}

/// What PVE took before it had a privilege for this, and still takes.
fn on_root(granted: &Permissions) -> bool {
    ["Sys.Audit", "Sys.Modify"].iter().all(|privilege| granted.has("/", privilege))
}

fn missing(caller: &str, privileges: &str, path: &str) -> String {
    format!(
        "{caller} lacks {privileges} on {path}: grant a role that has it there; a token with \
         privilege separation needs it for itself as well"
    )
}
