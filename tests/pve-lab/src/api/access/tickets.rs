//! Tickets, and what a caller may do.

use serde_json::{Map, Value, json};

use super::super::auth;
use super::super::call::Call;
use super::super::error::{ApiError, ApiResult};
use crate::state::access::Identity;

/// The parts of the interface and the first words of the privileges that concern them.
const CAPABILITIES: &[(&str, &str, &[&str])] = &[
    ("access", "/access", &["User.", "Group."]),
    ("dc", "/", &["SDN.", "Sys.Audit", "Sys.Modify"]),
    ("mapping", "/mapping", &["Mapping."]),
    ("nodes", "/nodes", &["Sys."]),
    ("sdn", "/sdn", &["SDN."]),
    ("storage", "/storage", &["Datastore."]),
    ("vms", "/vms", &["VM."]),
];

fn capabilities(call: &Call, user: &str) -> Value {
    let who = Identity { user: user.to_owned(), token: None };
    let state = call.state();
    let mut cap = Map::new();
    for (part, path, prefixes) in CAPABILITIES {
        let privileges: Map<String, Value> = state
            .cluster
            .access
            .privileges(&who, path)
            .into_iter()
            .filter(|privilege| {
                prefixes.iter().any(|prefix| privilege.starts_with(prefix))
                    || (privilege == "Permissions.Modify" && *part != "dc")
            })
            .map(|privilege| (privilege, json!(1)))
            .collect();
        cap.insert((*part).to_owned(), Value::Object(privileges));
    }
    Value::Object(cap)
}

/// A ticket for a password.
pub(crate) fn create(call: Call) -> ApiResult {
    let given = call.params.text("username");
    let user = match call.params.get("realm") {
        Some(realm) if !given.contains('@') => format!("{given}@{realm}"),
        _ => given.to_owned(),
    };
    let password = call.params.text("password");
    let (ticket, csrf) = {
        let state = call.state();
        let key = &state.cluster.ticket_key;
        let known = state.cluster.access.users.get(&user);
        let fits = known.is_some_and(|known| known.password.as_deref() == Some(password))
            || (known.is_some() && auth::ticket_user(key, password).as_deref() == Some(&user));
        if !fits {
            return Err(ApiError::wrong_password());
        }
        auth::ticket(key, &user)
    };
    let cap = capabilities(&call, &user);
    Ok(json!({"username": user, "ticket": ticket, "CSRFPreventionToken": csrf, "cap": cap}))
}

/// What the caller, or a user, may do at a path or at all paths that matter.
pub(crate) fn permissions(call: Call) -> ApiResult {
    let who = match call.params.get("userid") {
        None => call.who.clone(),
        Some(userid) => {
            let (user, token) =
                userid.split_once('!').map_or((userid, None), |(u, t)| (u, Some(t)));
            if user != call.who.user && !call.allows("/access", "Sys.Audit") {
                return Err(ApiError::forbidden("/access, Sys.Audit"));
            }
            Identity { user: user.to_owned(), token: token.map(str::to_owned) }
        }
    };
    let state = call.state();
    let paths: Vec<String> = match call.params.get("path") {
        Some(path) => vec![path.to_owned()],
        None => {
            let mut paths: Vec<String> = [
                "/",
                "/access",
                "/access/groups",
                "/access/realm",
                "/mapping",
                "/nodes",
                "/pool",
                "/sdn",
                "/storage",
                "/vms",
            ]
            .iter()
            .map(|path| (*path).to_owned())
            .collect();
            paths.extend(state.cluster.access.acl.iter().map(|grant| grant.path.clone()));
            paths.sort();
            paths.dedup();
            paths
        }
    };
    let mut result = Map::new();
    for path in paths {
        let privileges: Map<String, Value> = state
            .cluster
            .access
            .privileges(&who, &path)
            .into_iter()
            .map(|privilege| (privilege, json!(1)))
            .collect();
        if !privileges.is_empty() || call.params.get("path").is_some() {
            result.insert(path, Value::Object(privileges));
        }
    }
    Ok(Value::Object(result))
}
