//! One API endpoint and who calls it: requests out, answers or sorted errors in.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_LENGTH, CONTENT_TYPE, LOCATION};
use reqwest::{Method, StatusCode};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::auth::Auth;
use crate::classify;
use crate::endpoint::Endpoint;
use crate::error::{Error, Refusal};
use crate::form::Form;
use crate::options::ConnectOptions;
use crate::{dns, tls, transport};

/// pveproxy closes an idle connection after 5 s; reusing it in that moment loses a request.
const IDLE: Duration = Duration::from_secs(4);
/// How long to wait for the TCP and TLS handshakes; always less than a whole call, so that a server
/// that was never reached is told from one that does not answer.
pub(crate) const CONNECT: Duration = Duration::from_secs(10);
/// How often a read is repeated when the connection broke.
const READ_AGAIN: u32 = 2;

/// A connection to the API. Clones share it.
#[derive(Clone)]
pub struct Client(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    http: reqwest::Client,
    base: String,
    endpoint: String,
    pub(crate) auth: Auth,
    pub(crate) timeout: Duration,
    /// Where the server is, for what the HTTP library cannot do.
    pub(crate) server: Server,
}

/// What is needed to open a connection of one's own.
pub(crate) struct Server {
    pub(crate) endpoint: Endpoint,
    pub(crate) tls: Arc<rustls::ClientConfig>,
    pub(crate) resolver: dns::Resolver,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("endpoint", &self.0.endpoint).finish_non_exhaustive()
    }
}

/// An answer's data and what stands beside it.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) data: Value,
    pub(crate) total: Option<u64>,
}

impl Client {
    /// A client for these options. Nothing is sent before the first call.
    ///
    /// # Errors
    /// When the options do not say enough, or the certificates to trust cannot be read.
    pub fn connect(options: &ConnectOptions) -> Result<Self, Error> {
        let resolved = options.resolve()?;
        let tls = tls::config(options, resolved.fingerprint)?;
        let endpoint = resolved.endpoint.to_string();
        let resolver = dns::Resolver::default();
        let http = reqwest::Client::builder()
            .tls_backend_preconfigured(tls.clone())
            .dns_resolver(resolver.clone())
            .no_proxy()
            .http1_only()
            .https_only(true)
            .redirect(reqwest::redirect::Policy::none())
            .connect_timeout(CONNECT.min(resolved.timeout * 9 / 10))
            .pool_idle_timeout(IDLE)
            .tcp_nodelay(true)
            .user_agent(concat!("ferrite/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| {
                transport::sort(error, String::new(), &endpoint, resolved.timeout.as_secs())
            })?;
        Ok(Self(Arc::new(Inner {
            http,
            base: resolved.endpoint.base(),
            endpoint,
            auth: Auth::new(resolved.credentials),
            timeout: resolved.timeout,
            server: Server { endpoint: resolved.endpoint, tls: Arc::new(tls), resolver },
        })))
    }

    /// Host and port.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.0.endpoint
    }

    /// Who calls, for messages: `token 'ansible@pve!ci'`.
    #[must_use]
    pub fn caller(&self) -> String {
        self.0.auth.caller()
    }

    /// Whether the caller is root by its password: no token is, not even one of root's.
    #[must_use]
    pub fn is_root(&self) -> bool {
        self.0.auth.is_root()
    }

    /// Reads a path that this crate has no method for.
    ///
    /// # Errors
    /// As every call.
    pub async fn get<T: DeserializeOwned>(&self, path: &str, query: &Form) -> Result<T, Error> {
        let answer = self.read(path, query).await?;
        typed(Method::GET, path, answer.data)
    }

    /// Reads, and reads again if the connection broke: a read can be repeated.
    pub(crate) async fn read(&self, path: &str, query: &Form) -> Result<Answer, Error> {
        let started = Instant::now();
        let mut tries = 0;
        loop {
            let result = self.call(Method::GET, path, query).await;
            tries += 1;
            match result {
                // a read that used up its time is not given the same again
                Err(error)
                    if error.is_transport()
                        && tries <= READ_AGAIN
                        && started.elapsed() < self.0.timeout =>
                {
                    if matches!(error, Error::NotSent { .. }) {
                        return Err(error);
                    }
                    sleep(Duration::from_millis(100 * u64::from(tries))).await;
                }
                result => return result,
            }
        }
    }

    /// Posts to a path that this crate has no method for. It is not repeated.
    ///
    /// # Errors
    /// As every call.
    pub async fn post<T: DeserializeOwned>(&self, path: &str, form: &Form) -> Result<T, Error> {
        typed(Method::POST, path, self.call(Method::POST, path, form).await?.data)
    }

    pub(crate) async fn put<T: DeserializeOwned>(
        &self,
        path: &str,
        form: &Form,
    ) -> Result<T, Error> {
        typed(Method::PUT, path, self.call(Method::PUT, path, form).await?.data)
    }

    pub(crate) async fn remove<T: DeserializeOwned>(
        &self,
        path: &str,
        form: &Form,
    ) -> Result<T, Error> {
        typed(Method::DELETE, path, self.call(Method::DELETE, path, form).await?.data)
    }

    /// One call; with a ticket that the server no longer knows, one more after a new login.
    async fn call(&self, method: Method, path: &str, form: &Form) -> Result<Answer, Error> {
        let auth = &self.0.auth;
        let first = auth.ticket(self).await?;
        let result = self.send(&method, path, form, first.as_deref()).await;
        match (&result, first) {
            // the server refused before it looked at the call, so a write may be said again
            (Err(Error::Refused(refusal)), Some(used)) if refusal.status == 401 => {
                auth.forget(&used).await;
                let second = auth.ticket(self).await?;
                self.send(&method, path, form, second.as_deref()).await
            }
            _ => result,
        }
    }

    pub(crate) async fn send(
        &self,
        method: &Method,
        path: &str,
        form: &Form,
        ticket: Option<&crate::auth::Ticket>,
    ) -> Result<Answer, Error> {
        let Inner { http, base, endpoint, auth, timeout, .. } = &*self.0;
        let call = format!("{method} {path}");
        // pveproxy refuses a body with DELETE, and a GET has none
        let in_body = *method == Method::POST || *method == Method::PUT;
        let encoded = form.encode();
        let url = if in_body || form.is_empty() {
            format!("{base}{path}")
        } else {
            format!("{base}{path}?{encoded}")
        };
        let mut request =
            http.request(method.clone(), url).timeout(*timeout).header(ACCEPT, "application/json");
        request = auth.sign(request, method, ticket);
        if in_body {
            request = request
                .header(CONTENT_TYPE, "application/x-www-form-urlencoded")
                .header(CONTENT_LENGTH, encoded.len())
                .body(encoded);
        }
        let sort = |error| transport::sort(error, call.clone(), endpoint, timeout.as_secs());
        let response = request.send().await.map_err(sort)?;
        let status = response.status();
        let reason = response
            .extensions()
            .get::<hyper::ext::ReasonPhrase>()
            .map(|reason| String::from_utf8_lossy(reason.as_bytes()).trim().to_owned());
        let location = response
            .headers()
            .get(LOCATION)
            .map(|place| String::from_utf8_lossy(place.as_bytes()).into_owned());
        let body = response.bytes().await.map_err(sort)?;
        if status.is_success() {
            return parse(&call, &body);
        }
        Err(self.refused(call, status, reason, location, &body))
    }

    pub(crate) fn refused(
        &self,
        call: String,
        status: StatusCode,
        reason: Option<String>,
        location: Option<String>,
        body: &[u8],
    ) -> Error {
        let code = status.as_u16();
        let json: Value = serde_json::from_slice(body).unwrap_or_default();
        let message = match (json["message"].as_str().map(str::trim), reason) {
            (Some(message), _) if !message.is_empty() => message.to_owned(),
            (_, Some(reason)) if !reason.is_empty() => reason,
            _ => status.canonical_reason().map_or_else(|| format!("status {code}"), str::to_owned),
        };
        if (595..=599).contains(&code) {
            let reason = format!("the cluster's proxy gave up ({code} {message})");
            return Error::MaybeSent { call, reason, status: Some(code) };
        }
        if status.is_redirection() {
            let place = location.unwrap_or_else(|| "elsewhere".to_owned());
            let reason =
                format!("it redirects to {place}; set api_host to where the API itself is");
            return Error::Answer { call, reason };
        }
        let errors: BTreeMap<String, String> = json["errors"]
            .as_object()
            .into_iter()
            .flatten()
            .map(|(name, text)| {
                let text = text.as_str().map_or_else(|| text.to_string(), str::to_owned);
                (name.clone(), text.trim().to_owned())
            })
            .collect();
        let kind = classify::answer(code, &message, &errors);
        let caller = self.caller();
        Error::Refused(Box::new(Refusal { call, status: code, message, errors, kind, caller }))
    }
}

pub(crate) fn parse(call: &str, body: &[u8]) -> Result<Answer, Error> {
    let wrong = |reason: String| Error::Answer { call: call.to_owned(), reason };
    let mut json: Value =
        serde_json::from_slice(body).map_err(|error| match error.is_eof() && !body.is_empty() {
            true => wrong(format!("it was cut off after {} bytes; try again", body.len())),
            false => wrong("it is no JSON; is this the PVE API?".to_owned()),
        })?;
    match json.get_mut("data") {
        Some(data) => {
            let data = data.take();
            Ok(Answer { data, total: json["total"].as_u64() })
        }
        None => Err(wrong("it has no data; is this the PVE API?".to_owned())),
    }
}

fn typed<T: DeserializeOwned>(method: Method, path: &str, data: Value) -> Result<T, Error> {
    serde_json::from_value(data).map_err(|error| Error::Answer {
        call: format!("{method} {path}"),
        reason: error.to_string(),
    })
}
