//! What the caller must be allowed for a plan, by the rules of PVE's own checks
//! (`check_vm_modify_config_perm` in `PVE/API2/Qemu.pm`).

mod keys;
mod needs;

use std::collections::{BTreeMap, BTreeSet};

use pve_client::{Client, Permissions};

use crate::change::Change;
use crate::found::Found;
use keys::is_root_only;
use needs::needs;

/// Looks for privileges that are missing.
pub(crate) async fn check(
    client: &Client,
    found: &Found,
    plan: &[Change],
    problems: &mut Vec<String>,
) {
    if client.is_root() {
        return;
    }
    problems.extend(root_only(client, plan));
    let pool = plan.iter().find_map(|change| match change {
        Change::Create(creation) => creation.pool.as_ref().map(|pool| format!("/pool/{pool}")),
        _ => None,
    });
    let mut by_pool = None;
    if let Some(pool) = &pool {
        by_pool = client.permissions(Some(pool)).await.ok().map(|granted| (pool.as_str(), granted));
    }
    for (path, needed) in needs(found, plan) {
        let Ok(granted) = client.permissions(Some(&path)).await else { return };
        // a machine that becomes a member of a pool gets what is granted on that
        let by_pool = by_pool.as_ref().filter(|_| path.starts_with("/vms"));
        problems.extend(missing(client, &granted, by_pool, &path, &needed));
    }
}

/// Keys that PVE lets no one set but root with its password, all in one sentence.
fn root_only(client: &Client, plan: &[Change]) -> Option<String> {
    let mut keys: Vec<&str> = plan
        .iter()
        .flat_map(|change| match change {
            Change::Create(creation) => lines(&creation.config).collect::<Vec<_>>(),
            Change::Set(edit) => {
                let gone = edit
                    .delete
                    .iter()
                    .map(|key| (key.as_str(), edit.before.get(key).map_or("", String::as_str)));
                lines(&edit.set).chain(gone).collect()
            }
            _ => Vec::new(),
        })
        .filter(|(key, line)| is_root_only(key, line))
        .map(|(key, _)| key)
        .collect();
    keys.sort_unstable();
    keys.dedup();
    (!keys.is_empty()).then(|| {
        format!(
            "{} may not set {}: PVE lets only root@pam do that, logged in with its password, and \
             no token, not even one of root's: call with api_user root@pam and api_password, or \
             set it on the node with `qm set`; devices of the host may be set by others too if \
             they are mapped",
            client.caller(),
            keys.join(", ")
        )
    })
}

fn lines(config: &BTreeMap<String, String>) -> impl Iterator<Item = (&str, &str)> {
    config.iter().map(|(key, line)| (key.as_str(), line.as_str()))
}

fn missing(
    client: &Client,
    granted: &Permissions,
    by_pool: Option<&(&str, Permissions)>,
    path: &str,
    needed: &BTreeSet<Vec<&'static str>>,
) -> Option<String> {
    let lacking: Vec<String> = needed
        .iter()
        .filter(|any| {
            !any.iter().any(|privilege| {
                granted.has(path, privilege)
                    || by_pool.is_some_and(|(pool, granted)| granted.has(pool, privilege))
            })
        })
        .map(|any| any.join(" or "))
        .collect();
    (!lacking.is_empty()).then(|| {
        format!(
            "{} lacks {} on {path}: grant a role that has it there; a token with privilege \
             separation needs it for itself as well",
            client.caller(),
            lacking.join(", ")
        )
    })
}

#[cfg(test)]
mod tests;
