//! Who is asking: API tokens, tickets and the token against forged requests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

use super::error::ApiError;
use crate::shared::Shared;
use crate::state::access::Identity;
use crate::state::now;

const TICKET_LIFE: u64 = 2 * 60 * 60;

fn sign(key: &str, text: &str) -> String {
    STANDARD.encode(Sha256::digest(format!("{key}\n{text}").as_bytes()))
}

/// A ticket and its token against forged requests.
pub(crate) fn ticket(key: &str, user: &str) -> (String, String) {
    let time = format!("{:08X}", now());
    let plain = format!("PVE:{user}:{time}");
    let ticket = format!("{plain}::{}", sign(key, &plain));
    let csrf =
        format!("{time}:{}", sign(key, &format!("csrf:{user}:{time}")).trim_end_matches('='));
    (ticket, csrf)
}

/// The user of a ticket, if it is genuine and fresh.
pub(crate) fn ticket_user(key: &str, ticket: &str) -> Option<String> {
    let (plain, signature) = ticket.split_once("::")?;
    let (user, time) = plain.strip_prefix("PVE:")?.rsplit_once(':')?;
    let made = u64::from_str_radix(time, 16).ok()?;
    let fresh = now().saturating_sub(made) < TICKET_LIFE;
    (fresh && signature == sign(key, plain)).then(|| user.to_owned())
}

fn csrf_fits(key: &str, user: &str, csrf: &str) -> bool {
    csrf.split_once(':').is_some_and(|(time, signature)| {
        signature == sign(key, &format!("csrf:{user}:{time}")).trim_end_matches('=')
    })
}

/// The headers that say who is asking.
#[derive(Debug, Default, Clone)]
pub(crate) struct Credentials {
    pub(crate) authorization: Option<String>,
    pub(crate) cookie: Option<String>,
    pub(crate) csrf: Option<String>,
}

impl Shared {
    /// Who is asking, or why nobody is let in.
    pub(crate) fn identify(&self, who: &Credentials, method: &str) -> Result<Identity, ApiError> {
        if let Some(token) = who
            .authorization
            .as_deref()
            .and_then(|value| value.strip_prefix("PVEAPIToken"))
            .map(|value| value.trim_start_matches(['=', ' ']))
        {
            return self.identify_token(token);
        }
        let state = self.state();
        let key = &state.cluster.ticket_key;
        let ticket = who
            .cookie
            .as_deref()
            .and_then(|value| {
                value.split(';').find_map(|part| part.trim().strip_prefix("PVEAuthCookie="))
            })
            .map(|value| percent_decode_str(value).decode_utf8_lossy().into_owned());
        let Some(ticket) = ticket.filter(|ticket| !ticket.is_empty()) else {
            return Err(ApiError::unauthorized("No ticket"));
        };
        let Some(user) = ticket_user(key, &ticket) else {
            return Err(ApiError::unauthorized("invalid PVE ticket"));
        };
        let genuine = who.csrf.as_deref().is_some_and(|csrf| csrf_fits(key, &user, csrf));
        if method != "GET" && !genuine {
            return Err(ApiError::unauthorized("Permission denied - invalid csrf token"));
        }
        Ok(Identity { user, token: None })
    }

    fn identify_token(&self, text: &str) -> Result<Identity, ApiError> {
        let refuse = |old: String| {
            let message = if self.old() { old } else { "Authentication failed!".to_owned() };
            Err(ApiError::unauthorized(&message))
        };
        let Some((id, secret)) = text.split_once('=') else {
            return refuse("no tokenid specified".to_owned());
        };
        let Some((user, name)) = id.split_once('!') else {
            return refuse("no tokenid specified".to_owned());
        };
        let state = self.state();
        let Some(account) = state.cluster.access.users.get(user) else {
            return refuse(format!("no such user ('{user}')"));
        };
        if account.fields.get("enable").is_some_and(|enable| enable == "0") {
            return refuse(format!("user '{user}' is disabled"));
        }
        let Some(token) = account.tokens.get(name) else {
            return refuse(format!("no such token '{name}' for user '{user}'"));
        };
        if token.expire != 0 && token.expire < now() {
            return refuse("token expired".to_owned());
        }
        if token.secret != secret {
            return refuse("invalid token value!".to_owned());
        }
        Ok(Identity { user: user.to_owned(), token: Some(name.to_owned()) })
    }
}
