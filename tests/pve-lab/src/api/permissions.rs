//! PVE's permission expressions: `["perm", "/vms/{vmid}", ["VM.Audit"]]` and their combinations.

use serde_json::Value;

use super::error::ApiError;
use crate::state::State;
use crate::state::access::Identity;

/// Whether someone has a privilege at a path, by the path itself or by the pool it is in.
pub(crate) fn allows(state: &State, who: &Identity, path: &str, privilege: &str) -> bool {
    let access = &state.cluster.access;
    if access.allows(who, path, privilege) {
        return true;
    }
    let pool = if let Some(vmid) = path.strip_prefix("/vms/") {
        vmid.parse().ok().and_then(|vmid| state.pool_of(vmid))
    } else if let Some(storage) = path.strip_prefix("/storage/") {
        state
            .cluster
            .pools
            .iter()
            .find(|(_, pool)| pool.storages.iter().any(|have| have == storage))
            .map(|(name, _)| name.as_str())
    } else {
        None
    };
    pool.is_some_and(|pool| access.allows(who, &format!("/pool/{pool}"), privilege))
}

fn fill(template: &str, path: &[(String, String)]) -> String {
    path.iter().fold(template.to_owned(), |text, (name, value)| {
        text.replace(&format!("{{{name}}}"), value)
    })
}

fn strings(value: Option<&Value>) -> Vec<&str> {
    value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Checks an expression for a call; parts that need more than the path are left to the handler.
pub(crate) fn check(
    state: &State,
    who: &Identity,
    expression: &Value,
    path: &[(String, String)],
) -> Result<(), ApiError> {
    let Some(parts) = expression.as_array() else { return Ok(()) };
    match parts.first().and_then(Value::as_str) {
        Some("and") => parts[1..].iter().try_for_each(|part| check(state, who, part, path)),
        Some("or") => {
            let mut last = Ok(());
            for part in &parts[1..] {
                last = check(state, who, part, path);
                if last.is_ok() {
                    break;
                }
            }
            last.map_err(|_| ApiError::forbidden(""))
        }
        Some("perm") => {
            if parts.iter().skip(3).any(|part| part.as_str() == Some("require_param")) {
                return Ok(());
            }
            let object = fill(parts.get(1).and_then(Value::as_str).unwrap_or("/"), path);
            let privileges = strings(parts.get(2));
            let any = parts.iter().skip(3).any(|part| part.as_str() == Some("any"));
            if any {
                if privileges.iter().any(|privilege| allows(state, who, &object, privilege)) {
                    return Ok(());
                }
                return Err(ApiError::forbidden(&format!("{object}, {}", privileges.join("|"))));
            }
            match privileges.iter().find(|privilege| !allows(state, who, &object, privilege)) {
                None => Ok(()),
                Some(privilege) => Err(ApiError::forbidden(&format!("{object}, {privilege}"))),
            }
        }
        Some("userid-param") => {
            let user = path.iter().find(|(name, _)| name == "userid").map(|(_, value)| value);
            let fits = match parts.get(1).and_then(Value::as_str) {
                Some("self") => user == Some(&who.user),
                _ => allows(state, who, "/access", "Realm.AllocateUser") || who.user == "root@pam",
            };
            if fits { Ok(()) } else { Err(ApiError::forbidden("")) }
        }
        Some("userid-group") => {
            let wanted = strings(parts.get(1));
            let fits =
                wanted.iter().any(|privilege| allows(state, who, "/access/groups", privilege));
            if fits {
                Ok(())
            } else {
                Err(ApiError::forbidden(&format!("/access/groups, {}", wanted.join("|"))))
            }
        }
        _ => Ok(()),
    }
}
