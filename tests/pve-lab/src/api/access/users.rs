//! Users and their tokens.

use serde_json::{Value, json};

use super::super::call::{Call, NOTHING};
use super::super::error::{ApiError, ApiResult};
use crate::state::access::{Token, User};

fn number(user: &User, key: &str, default: u64) -> u64 {
    user.fields.get(key).and_then(|text| text.parse().ok()).unwrap_or(default)
}

fn missing(userid: &str) -> ApiError {
    ApiError::internal(format!("no such user ('{userid}')"))
}

fn token_row(name: &str, token: &Token) -> Value {
    let mut row =
        json!({"tokenid": name, "privsep": u8::from(token.privsep), "expire": token.expire});
    if let Some(comment) = &token.comment {
        row["comment"] = json!(comment);
    }
    row
}

/// All users.
pub(crate) fn list(call: Call) -> ApiResult {
    let full = call.params.flag("full");
    let sees_all =
        call.allows("/access/groups", "Sys.Audit") || call.allows("/access/groups", "User.Modify");
    let state = call.state();
    let mut rows = Vec::new();
    for (userid, user) in &state.cluster.access.users {
        if !sees_all && *userid != call.who.user {
            continue;
        }
        let realm = userid.rsplit('@').next().unwrap_or_default();
        let mut row = json!({"userid": userid, "enable": number(user, "enable", 1),
            "expire": number(user, "expire", 0), "realm-type": realm});
        for key in ["comment", "email", "firstname", "lastname"] {
            if let Some(text) = user.fields.get(key) {
                row[key] = json!(text);
            }
        }
        if full {
            row["groups"] = json!("");
            row["tokens"] = if user.tokens.is_empty() {
                Value::Null
            } else {
                user.tokens.iter().map(|(name, token)| token_row(name, token)).collect()
            };
        }
        rows.push(row);
    }
    Ok(json!(rows))
}

/// A new user.
pub(crate) fn create(call: Call) -> ApiResult {
    let userid = call.params.text("userid").to_owned();
    if !userid.contains('@') {
        return Err(ApiError::internal(format!(
            "value '{userid}' does not look like a valid user name"
        )));
    }
    let mut state = call.state();
    if state.cluster.access.users.contains_key(&userid) {
        return Err(ApiError::internal(format!(
            "create user failed: user '{userid}' already exists"
        )));
    }
    let mut user =
        User { password: call.params.get("password").map(str::to_owned), ..User::default() };
    user.fields.insert("email".to_owned(), String::new());
    for key in ["comment", "email", "firstname", "lastname", "enable", "expire"] {
        if let Some(text) = call.params.get(key) {
            user.fields.insert(key.to_owned(), text.to_owned());
        }
    }
    state.cluster.access.users.insert(userid, user);
    state.save_cluster();
    NOTHING
}

/// One user.
pub(crate) fn get(call: Call) -> ApiResult {
    let userid = call.params.text("userid");
    let state = call.state();
    let user = state.cluster.access.users.get(userid).ok_or_else(|| missing(userid))?;
    let tokens = if user.tokens.is_empty() {
        Value::Null
    } else {
        Value::Object(user.tokens.iter().map(|(n, t)| (n.clone(), token_row(n, t))).collect())
    };
    let mut row = json!({"enable": number(user, "enable", 1), "expire": number(user, "expire", 0),
        "groups": [], "tokens": tokens});
    for key in ["comment", "email", "firstname", "lastname"] {
        if let Some(text) = user.fields.get(key) {
            row[key] = json!(text);
        }
    }
    Ok(row)
}

/// Removes a user with all that was granted to it.
pub(crate) fn delete(call: Call) -> ApiResult {
    let userid = call.params.text("userid").to_owned();
    let mut state = call.state();
    let access = &mut state.cluster.access;
    access.users.remove(&userid).ok_or_else(|| missing(&userid))?;
    access.acl.retain(|grant| grant.who != userid && !grant.who.starts_with(&format!("{userid}!")));
    state.save_cluster();
    NOTHING
}

/// The tokens of a user.
pub(crate) fn tokens(call: Call) -> ApiResult {
    let userid = call.params.text("userid");
    let state = call.state();
    let user = state.cluster.access.users.get(userid).ok_or_else(|| missing(userid))?;
    Ok(user.tokens.iter().map(|(name, token)| token_row(name, token)).collect())
}

/// One token.
pub(crate) fn token(call: Call) -> ApiResult {
    let (userid, name) = (call.params.text("userid"), call.params.text("tokenid"));
    let state = call.state();
    let user = state.cluster.access.users.get(userid).ok_or_else(|| missing(userid))?;
    let token = user
        .tokens
        .get(name)
        .ok_or_else(|| ApiError::internal(format!("no such token '{name}' for user '{userid}'")))?;
    let mut row = token_row(name, token);
    if let Some(map) = row.as_object_mut() {
        map.shift_remove("tokenid");
    }
    Ok(row)
}

/// A new token; its secret is shown this once.
pub(crate) fn create_token(call: Call) -> ApiResult {
    let (userid, name) = (call.params.text("userid"), call.params.text("tokenid"));
    let mut state = call.state();
    let user = state.cluster.access.users.get_mut(userid).ok_or_else(|| missing(userid))?;
    if user.tokens.contains_key(name) {
        return Err(ApiError::param("tokenid", "Token already exists."));
    }
    let secret = crate::random::uuid();
    let privsep = call.params.get("privsep") != Some("0");
    let comment = call.params.get("comment").map(str::to_owned);
    let expire = call.params.number("expire").unwrap_or(0);
    let mut info = json!({"privsep": u8::from(privsep).to_string()});
    for key in ["comment", "expire"] {
        if let Some(text) = call.params.get(key) {
            info[key] = json!(text);
        }
    }
    user.tokens.insert(name.to_owned(), Token { secret: secret.clone(), privsep, expire, comment });
    state.save_cluster();
    Ok(json!({"full-tokenid": format!("{userid}!{name}"), "info": info, "value": secret}))
}

/// Removes a token.
pub(crate) fn delete_token(call: Call) -> ApiResult {
    let (userid, name) = (call.params.text("userid"), call.params.text("tokenid"));
    let mut state = call.state();
    let user = state.cluster.access.users.get_mut(userid).ok_or_else(|| missing(userid))?;
    user.tokens
        .remove(name)
        .ok_or_else(|| ApiError::internal(format!("no such token '{name}' for user '{userid}'")))?;
    let full = format!("{userid}!{name}");
    state.cluster.access.acl.retain(|grant| grant.who != full);
    state.save_cluster();
    NOTHING
}
