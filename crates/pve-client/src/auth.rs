//! Who calls: a token in each request, or a ticket that is got with the password and renewed.

use std::time::Duration;

use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::header::{AUTHORIZATION, COOKIE, HeaderValue};
use reqwest::{Method, RequestBuilder};
use secret::Secret;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;
use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::classify::Kind;
use crate::client::Client;
use crate::error::{Error, Refusal};
use crate::form::Form;
use crate::options::Credentials;

/// A ticket is good for two hours; it is renewed before that.
const RENEW: Duration = Duration::from_secs(100 * 60);
const LOGIN: &str = "/access/ticket";

pub(crate) struct Auth {
    credentials: Credentials,
    ticket: Mutex<Option<Arc<Ticket>>>,
}

/// A login that is in force.
pub(crate) struct Ticket {
    cookie: Secret,
    csrf: Secret,
    since: Instant,
}

#[derive(Deserialize)]
struct Login {
    ticket: Option<String>,
    #[serde(rename = "CSRFPreventionToken")]
    csrf: Option<String>,
    #[serde(rename = "NeedTFA", default)]
    second_factor: Value,
}

impl Auth {
    pub(crate) fn new(credentials: Credentials) -> Self {
        Self { credentials, ticket: Mutex::new(None) }
    }

    pub(crate) fn caller(&self) -> String {
        match &self.credentials {
            Credentials::Token { id, .. } => format!("token '{id}'"),
            Credentials::Password { user, .. } => format!("user '{user}'"),
        }
    }

    pub(crate) fn is_root(&self) -> bool {
        matches!(&self.credentials, Credentials::Password { user, .. } if user == "root@pam")
    }

    /// The ticket to call with; none is needed with a token. Callers at the same time log in once.
    pub(crate) async fn ticket(&self, client: &Client) -> Result<Option<Arc<Ticket>>, Error> {
        let Credentials::Password { user, password } = &self.credentials else { return Ok(None) };
        let mut held = self.ticket.lock().await;
        if let Some(ticket) = held.as_ref().filter(|ticket| ticket.since.elapsed() < RENEW) {
            return Ok(Some(Arc::clone(ticket)));
        }
        let form = Form::new().text("username", user).text("password", password.expose());
        let answer = client.send(&Method::POST, LOGIN, &form, None).await?;
        let ticket = Arc::new(self.logged_in(answer.data)?);
        *held = Some(Arc::clone(&ticket));
        Ok(Some(ticket))
    }

    fn logged_in(&self, data: Value) -> Result<Ticket, Error> {
        let wrong = |reason: &str| Error::Answer {
            call: format!("POST {LOGIN}"),
            reason: reason.to_owned(),
        };
        let login: Login = serde_json::from_value(data).map_err(|_| wrong("it is no login"))?;
        let ticket = login.ticket.ok_or_else(|| wrong("it has no ticket"))?;
        let asked = !matches!(&login.second_factor, Value::Null | Value::Bool(false))
            && login.second_factor != 0
            && login.second_factor != "0";
        // the challenge comes in place of a ticket
        if asked || ticket.starts_with("PVE:!tfa!") {
            return Err(Error::Refused(Box::new(Refusal {
                call: format!("POST {LOGIN}"),
                status: 401,
                message: "a second factor is asked for".to_owned(),
                errors: std::collections::BTreeMap::new(),
                kind: Kind::SecondFactor,
                caller: self.caller(),
            })));
        }
        let csrf = login.csrf.ok_or_else(|| wrong("it has no CSRFPreventionToken"))?;
        let cookie = format!("PVEAuthCookie={}", utf8_percent_encode(&ticket, NON_ALPHANUMERIC));
        Ok(Ticket { cookie: Secret::new(cookie), csrf: Secret::new(csrf), since: Instant::now() })
    }

    /// Drops a ticket that was refused, unless another caller has renewed it meanwhile.
    pub(crate) async fn forget(&self, refused: &Arc<Ticket>) {
        let mut held = self.ticket.lock().await;
        if held.as_ref().is_some_and(|ticket| Arc::ptr_eq(ticket, refused)) {
            *held = None;
        }
    }

    pub(crate) fn sign(
        &self,
        request: RequestBuilder,
        method: &Method,
        ticket: Option<&Ticket>,
    ) -> RequestBuilder {
        let headers = self.headers(method, ticket);
        headers.into_iter().fold(request, |request, (name, value)| request.header(name, value))
    }

    /// The headers that say who calls.
    pub(crate) fn headers(
        &self,
        method: &Method,
        ticket: Option<&Ticket>,
    ) -> Vec<(&'static str, HeaderValue)> {
        match (&self.credentials, ticket) {
            (Credentials::Token { id, secret }, _) => {
                let token = format!("PVEAPIToken={id}={}", secret.expose());
                vec![(AUTHORIZATION.as_str(), hidden(&token))]
            }
            (Credentials::Password { .. }, Some(ticket)) => {
                let mut headers = vec![(COOKIE.as_str(), hidden(ticket.cookie.expose()))];
                if *method != Method::GET {
                    headers.push(("CSRFPreventionToken", hidden(ticket.csrf.expose())));
                }
                headers
            }
            // the login itself
            (Credentials::Password { .. }, None) => Vec::new(),
        }
    }
}

/// A header value that no debug output shows.
fn hidden(text: &str) -> HeaderValue {
    // options are checked to be printable; a value that is not would be refused by the server
    let mut value = HeaderValue::from_str(text).unwrap_or_else(|_| HeaderValue::from_static(""));
    value.set_sensitive(true);
    value
}
