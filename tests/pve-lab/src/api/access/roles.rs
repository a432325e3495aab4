//! Roles, grants, groups and realms.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::super::call::{Call, NOTHING};
use super::super::error::{ApiError, ApiResult};
use crate::state::access::Grant;

/// The realms.
pub(crate) fn domains(_call: Call) -> ApiResult {
    Ok(json!([
        {"realm": "pam", "type": "pam", "comment": "Linux PAM standard authentication"},
        {"realm": "pve", "type": "pve", "comment": "Proxmox VE authentication server"},
    ]))
}

/// All grants that the caller may see.
pub(crate) fn acl(call: Call) -> ApiResult {
    let state = call.state();
    let sees = |path: &str| {
        let access = &state.cluster.access;
        access.allows(&call.who, path, "Permissions.Modify")
            || access.allows(&call.who, "/access", "Sys.Audit")
    };
    let mut grants: Vec<&Grant> =
        state.cluster.access.acl.iter().filter(|grant| sees(&grant.path)).collect();
    grants.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(grants
        .iter()
        .map(|grant| {
            json!({"path": grant.path, "type": grant.kind, "ugid": grant.who,
                "roleid": grant.role, "propagate": u8::from(grant.propagate)})
        })
        .collect())
}

/// Grants roles, or takes them back.
pub(crate) fn grant(call: Call) -> ApiResult {
    let path = call.params.text("path").to_owned();
    call.require(&path, "Permissions.Modify")?;
    let remove = call.params.flag("delete");
    let propagate = call.params.get("propagate") != Some("0");
    let mut state = call.state();
    for role in call.params.list("roles") {
        if state.cluster.access.role(&role).is_none() {
            return Err(ApiError::internal(format!(
                "ACL update failed: role '{role}' does not exist"
            )));
        }
        for (kind, param) in [("user", "users"), ("group", "groups"), ("token", "tokens")] {
            for who in call.params.list(param) {
                let grant = Grant {
                    path: path.clone(),
                    kind: kind.to_owned(),
                    who,
                    role: role.clone(),
                    propagate,
                };
                let acl = &mut state.cluster.access.acl;
                acl.retain(|have| Grant { propagate, ..have.clone() } != grant);
                if !remove {
                    acl.push(grant);
                }
            }
        }
    }
    state.save_cluster();
    NOTHING
}

/// All roles.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    let access = &state.cluster.access;
    Ok(access
        .role_names()
        .iter()
        .map(|name| {
            let privileges: Vec<String> =
                access.role(name).unwrap_or_default().into_iter().collect();
            let special = u8::from(!access.roles.contains_key(name));
            json!({"roleid": name, "privs": privileges.join(","), "special": special})
        })
        .collect())
}

fn missing(name: &str) -> ApiError {
    ApiError::internal(format!("role '{name}' does not exist"))
}

/// The privileges of a role.
pub(crate) fn get(call: Call) -> ApiResult {
    let name = call.params.text("roleid");
    let role = call.state().cluster.access.role(name).ok_or_else(|| missing(name))?;
    let privileges: Map<String, Value> = role.into_iter().map(|p| (p, json!(1))).collect();
    Ok(Value::Object(privileges))
}

/// A new role.
pub(crate) fn create(call: Call) -> ApiResult {
    let name = call.params.text("roleid").to_owned();
    let mut state = call.state();
    let all = state.cluster.access.all_privileges();
    let privileges: BTreeSet<String> = call.params.list("privs").into_iter().collect();
    if let Some(unknown) = privileges.iter().find(|privilege| !all.contains(*privilege)) {
        let text = format!("invalid format - invalid privilege '{unknown}'\n");
        return Err(ApiError::param("privs", text));
    }
    if state.cluster.access.role(&name).is_some() {
        return Err(ApiError::internal(format!(
            "create role failed: role '{name}' already exists"
        )));
    }
    state.cluster.access.roles.insert(name, privileges);
    state.save_cluster();
    NOTHING
}

/// Removes a role.
pub(crate) fn delete(call: Call) -> ApiResult {
    let name = call.params.text("roleid").to_owned();
    let mut state = call.state();
    state.cluster.access.roles.remove(&name).ok_or_else(|| missing(&name))?;
    state.cluster.access.acl.retain(|grant| grant.role != name);
    state.save_cluster();
    NOTHING
}

/// All groups.
pub(crate) fn groups(call: Call) -> ApiResult {
    let state = call.state();
    Ok(state
        .cluster
        .access
        .groups
        .iter()
        .map(|(name, comment)| json!({"groupid": name, "comment": comment, "users": ""}))
        .collect())
}

/// A new group.
pub(crate) fn create_group(call: Call) -> ApiResult {
    let name = call.params.text("groupid").to_owned();
    let mut state = call.state();
    if state.cluster.access.groups.contains_key(&name) {
        return Err(ApiError::internal(format!(
            "create group failed: group '{name}' already exists"
        )));
    }
    let comment = call.params.text("comment").to_owned();
    state.cluster.access.groups.insert(name, comment);
    state.save_cluster();
    NOTHING
}
