//! The way of a call: who asks, which handler, may they, are the parameters right, do it.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use hyper::body::Bytes;
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::auth::Credentials;
use super::call::Call;
use super::error::{ApiError, ErrorBody};
use super::params::{self, Param, Params};
use super::{permissions, router};
use crate::faults::CallFault;
use crate::log::{Request, mask};
use crate::shared::Shared;
use crate::state::access::Identity;

/// A request as it came in.
#[derive(Debug)]
pub(crate) struct Incoming {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) credentials: Credentials,
    pub(crate) content_type: String,
    pub(crate) length: u64,
    pub(crate) body: Bytes,
}

impl Incoming {
    /// Whether the body is read into memory at all.
    pub(crate) fn takes_body(&self) -> bool {
        matches!(self.method.as_str(), "POST" | "PUT")
            && !self.content_type.starts_with("multipart/")
    }
}

/// An answer, ready to be sent.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) reason: String,
    pub(crate) content_type: &'static str,
    pub(crate) body: Vec<u8>,
}

const JSON: &str = "application/json;charset=UTF-8";

impl Answer {
    fn json(value: &Value) -> Self {
        Self {
            status: 200,
            reason: "OK".to_owned(),
            content_type: JSON,
            body: value.to_string().into_bytes(),
        }
    }

    /// The answer of a refusal.
    pub(crate) fn refusal(error: ApiError) -> Self {
        let reason = error.message.lines().next().unwrap_or_default().to_owned();
        // pvedaemon dies of wide characters in a reason, and pveproxy says so
        if reason.chars().any(|c| u32::from(c) > 0xff) {
            return Self {
                status: 596,
                reason: "Broken pipe".to_owned(),
                content_type: "",
                body: Vec::new(),
            };
        }
        let (content_type, body) = match error.body {
            ErrorBody::Json => (JSON, body_of(&error).to_string()),
            ErrorBody::Text => ("text/plain", reason.clone()),
            ErrorBody::Empty => ("", String::new()),
        };
        Self { status: error.status, reason, content_type, body: body.into_bytes() }
    }

    /// `/api2/extjs` says everything in the body.
    fn extjs(result: Result<Value, ApiError>) -> Self {
        match result {
            Ok(value) => Self::json(&json!({"success": 1, "data": value})),
            Err(error) => {
                let mut body = body_of(&error);
                body["success"] = json!(0);
                body["status"] = if error.errors.is_empty() {
                    json!(error.status)
                } else {
                    json!(error.status.to_string())
                };
                Self::json(&body)
            }
        }
    }
}

fn body_of(error: &ApiError) -> Value {
    let end = if error.newline { "\n" } else { "" };
    let mut body = json!({"data": null, "message": format!("{}{end}", error.message)});
    if !error.errors.is_empty() {
        body["errors"] = json!(error.errors);
    }
    body
}

/// What is known of a call when it is written to the log.
#[derive(Default)]
struct Seen {
    who: Identity,
    params: Params,
    total: Arc<OnceLock<usize>>,
}

/// Whether a call's sender is known and may make it, which is all that is looked at before the body
/// of an upload.
pub(crate) fn admits(incoming: &Incoming, shared: &Shared) -> bool {
    let below = incoming.path.strip_prefix("/api2/json").unwrap_or(&incoming.path);
    let Some(found) = router::find(&incoming.method, below) else { return false };
    let Some(schema) = shared.schema.call(&incoming.method, found.template) else { return false };
    shared.identify(&incoming.credentials, &incoming.method).is_ok_and(|who| {
        permissions::check(&shared.state(), &who, &schema.check, &found.values).is_ok()
    })
}

/// Answers a call, or `None` to close the connection without an answer.
pub(crate) async fn answer(incoming: Incoming, shared: Arc<Shared>) -> Option<Answer> {
    let mut seen = Seen::default();
    let path = incoming.path.clone();
    let (extjs, below) = match (path.strip_prefix("/api2/json"), path.strip_prefix("/api2/extjs")) {
        (Some(below), _) => (false, below.to_owned()),
        (_, Some(below)) => (true, below.to_owned()),
        _ => return Some(Answer::refusal(ApiError::text(404, "no such file"))),
    };
    let below = percent_decode_str(&below).decode_utf8_lossy().into_owned();
    let method = incoming.method.clone();
    let fault = shared.faults().call(&method, &below);
    let result = match &fault {
        Some(CallFault::DropBefore) => Err(ApiError::empty(0, "")),
        Some(CallFault::Proxy { status, reason, done: false }) => {
            Err(ApiError::empty(*status, reason.clone()))
        }
        Some(CallFault::Slow(time)) => {
            tokio::time::sleep(*time).await;
            process(incoming, &below, &shared, &mut seen).await
        }
        Some(CallFault::ChangeDigest) => {
            shared.touch(&below);
            process(incoming, &below, &shared, &mut seen).await
        }
        _ => process(incoming, &below, &shared, &mut seen).await,
    };
    let dropped = matches!(fault, Some(CallFault::DropBefore | CallFault::DropAfter));
    let result = match fault {
        Some(CallFault::Proxy { status, reason, done: true }) => {
            Err(ApiError::empty(status, reason))
        }
        _ => result,
    };
    let status = if dropped { 0 } else { result.as_ref().map_or_else(|e| e.status, |_| 200) };
    shared.log.add(Request {
        method,
        path: below,
        params: seen
            .params
            .0
            .iter()
            .map(|(name, value)| (name.clone(), mask(name, &text(value))))
            .collect(),
        user: if seen.who.user.is_empty() { String::new() } else { seen.who.full() },
        status,
        at: shared.age(),
    });
    if dropped {
        return None;
    }
    if let Err(error) = &result {
        tokio::time::sleep(error.delay.mul_f64(shared.settings.delays)).await;
    }
    Some(match result {
        result if extjs => Answer::extjs(result),
        Ok(value) => {
            let mut body = json!({"data": value});
            if let Some(total) = seen.total.get() {
                body["total"] = json!(total);
            }
            Answer::json(&body)
        }
        Err(error) => Answer::refusal(error),
    })
}

fn text(param: &Param) -> String {
    match param {
        Param::One(text) => text.clone(),
        Param::Many(values) => values.join(","),
        Param::Undefined => String::new(),
    }
}

fn node_of(values: &[(String, String)]) -> Option<&str> {
    values.iter().find(|(name, _)| name == "node").map(|(_, value)| value.as_str())
}

async fn process(
    incoming: Incoming,
    path: &str,
    shared: &Arc<Shared>,
    seen: &mut Seen,
) -> Result<Value, ApiError> {
    let method = incoming.method.as_str();
    let found = router::find(method, path);
    let schema = found.as_ref().and_then(|found| shared.schema.call(method, found.template));
    let open =
        path == "/access/ticket" || schema.is_some_and(|s| s.user.as_deref() == Some("world"));
    if !open {
        seen.who = shared.identify(&incoming.credentials, method)?;
    }
    if matches!(method, "GET" | "DELETE") && incoming.length > 0 {
        return Err(ApiError::text(501, format!("Unexpected content for method '{method}'")));
    }
    let body = read_body(&incoming)?;
    let (Some(found), Some(schema)) = (found, schema) else {
        return Err(ApiError::not_implemented(method, path));
    };
    let allowed = permissions::check(&shared.state(), &seen.who, &schema.check, &found.values);
    if found.template.ends_with("/upload") {
        // refused before the body is looked at, and in few words
        allowed.map_err(|error| ApiError { body: ErrorBody::Empty, ..error })?;
    } else {
        allowed?;
    }
    if let Some(node) = node_of(&found.values) {
        reach(shared, node)?;
    }
    let merged = params::merge(&found.values, params::parse_form(&incoming.query), body)?;
    seen.params = merged.clone();
    for (name, _) in &found.values {
        seen.params.0.shift_remove(name);
    }
    let params = schema.verify(merged)?;
    wait(shared, &found.values, path).await;
    let last = path.rsplit('/').next().unwrap_or_default().to_owned();
    let call = Call {
        shared: Arc::clone(shared),
        who: seen.who.clone(),
        params,
        last,
        total: Arc::clone(&seen.total),
    };
    let handler = found.handler;
    // agents, addresses and writes may take their time; everything else is a look at the state
    if method == "GET" && !path.contains("/agent/") && !path.ends_with("/query-url-metadata") {
        return handler(call);
    }
    tokio::task::spawn_blocking(move || handler(call))
        .await
        .unwrap_or_else(|_| Err(ApiError::empty(596, "Broken pipe")))
}

fn read_body(incoming: &Incoming) -> Result<Params, ApiError> {
    if incoming.body.is_empty() {
        return Ok(Params::default());
    }
    let text = String::from_utf8_lossy(&incoming.body);
    let kind = incoming.content_type.split(';').next().unwrap_or_default().trim();
    match kind {
        "" | "application/x-www-form-urlencoded" => Ok(params::parse_form(&text)),
        "application/json" => params::parse_json(&text),
        other => {
            Err(ApiError::text(506, format!("upload 'Content-Type '{other}' not implemented")))
        }
    }
}

/// Whether a node can be reached.
fn reach(shared: &Shared, node: &str) -> Result<(), ApiError> {
    match shared.state().cluster.nodes.get(node) {
        Some(node) if node.offline => {
            Err(ApiError::empty(595, "Connection refused").after(Duration::from_secs(1)))
        }
        Some(_) => Ok(()),
        None if node == "localhost" => Ok(()),
        None => Err(ApiError::internal(format!(
            "hostname lookup '{node}' failed - failed to get address info for: {node}: Temporary \
             failure in name resolution"
        ))),
    }
}

/// The latencies that the lab was told to have.
async fn wait(shared: &Shared, values: &[(String, String)], path: &str) {
    let mut time = shared.settings.latency;
    if let Some((_, command)) = path.split_once("/agent/") {
        let vmid = values.iter().find(|(name, _)| name == "vmid");
        if let Some(vmid) = vmid.and_then(|(_, vmid)| vmid.parse().ok()) {
            time += shared.driver.agent_delay(vmid, command);
        }
    }
    if time.is_zero() {
        return;
    }
    let places = shared.places(node_of(values).unwrap_or_default());
    let _place = match &places {
        Some(places) => places.acquire().await.ok(),
        None => None,
    };
    tokio::time::sleep(time).await;
}
