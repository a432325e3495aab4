//! What the caller must be allowed, by PVE's own checks (`PVE/API2/Storage`).

use pve_client::Permissions;

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
        if !work.receiving().is_empty() && !granted.has(&path, "Datastore.AllocateTemplate") {
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
    if !by_node || work.receiving().is_empty() {
        return;
    }
    let Ok(root) = client.permissions(Some("/")).await else { return };
    if on_root(&root) {
        return;
    }
    for node in work.receiving() {
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
