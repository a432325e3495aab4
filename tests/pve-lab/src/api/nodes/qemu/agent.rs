//! `agent/...`: commands for the guest's agent.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::super::super::call::{Call, NOTHING};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::params::Param;
use crate::driver::AgentError;

/// Sends a command, with PVE's words for what goes wrong.
fn send(call: &Call, command: &str, arguments: &Value) -> ApiResult {
    let vmid = call.vmid();
    {
        let state = call.state();
        let guest = state.vm(call.node(), vmid).map_err(ApiError::internal)?;
        if !guest.agent() {
            return Err(ApiError::internal("No QEMU guest agent configured"));
        }
        if guest.running.is_none() {
            return Err(ApiError::internal(format!("VM {vmid} is not running")));
        }
    }
    let timeout = Duration::from_secs(3).max(call.shared.delay(3.0));
    call.shared.driver.agent(vmid, command, arguments, timeout).map_err(|error| match error {
        AgentError::NotRunning => {
            ApiError::internal("QEMU guest agent is not running").after(Duration::from_secs(3))
        }
        AgentError::Timeout => {
            ApiError::internal(format!("VM {vmid} qga command '{command}' failed - got timeout"))
                .after(Duration::from_secs(5))
        }
        AgentError::Refused(text) => ApiError::internal(format!("Agent error: {text}")),
    })
}

/// Commands without arguments: the call's last part is the command.
pub(crate) fn run(call: Call) -> ApiResult {
    let command = format!("guest-{}", call.last);
    Ok(json!({"result": send(&call, &command, &json!({}))?}))
}

/// Runs a program; what it prints is fetched by its pid.
pub(crate) fn exec(call: Call) -> ApiResult {
    let mut words: Vec<String> = match call.params.0.get("command") {
        Some(Param::Many(words)) => words.clone(),
        Some(Param::One(word)) => vec![word.clone()],
        _ => Vec::new(),
    };
    if words.is_empty() {
        return Err(ApiError::internal("No command or input-data given"));
    }
    let path = words.remove(0);
    let mut arguments = json!({"path": path, "arg": words, "capture-output": true});
    if let Some(input) = call.params.get("input-data") {
        arguments["input-data"] = json!(STANDARD.encode(input));
    }
    let started = send(&call, "guest-exec", &arguments)?;
    Ok(json!({"pid": started["pid"]}))
}

fn decoded(value: &Value) -> Value {
    let bytes = value.as_str().and_then(|text| STANDARD.decode(text).ok()).unwrap_or_default();
    json!(String::from_utf8_lossy(&bytes))
}

/// What became of a program.
pub(crate) fn exec_status(call: Call) -> ApiResult {
    let arguments = json!({"pid": call.params.number("pid").unwrap_or(0)});
    let status = send(&call, "guest-exec-status", &arguments)?;
    let mut row = json!({});
    for (key, value) in status.as_object().into_iter().flatten() {
        row[key] = match (key.as_str(), value) {
            ("out-data" | "err-data", value) => decoded(value),
            (_, Value::Bool(flag)) => json!(u8::from(*flag)),
            (_, value) => value.clone(),
        };
    }
    Ok(row)
}

fn open(call: &Call, mode: &str) -> Result<Value, ApiError> {
    send(call, "guest-file-open", &json!({"path": call.params.text("file"), "mode": mode}))
}

/// Reads a file of the guest, up to 16 MiB as PVE does.
pub(crate) fn file_read(call: Call) -> ApiResult {
    const LIMIT: usize = 16 << 20;
    let handle = open(&call, "r")?;
    let mut content = Vec::new();
    let mut truncated = false;
    loop {
        let part = send(&call, "guest-file-read", &json!({"handle": handle, "count": 1 << 20}))?;
        let bytes = part["buf-b64"].as_str().and_then(|text| STANDARD.decode(text).ok());
        content.extend(bytes.unwrap_or_default());
        if part["eof"].as_bool() != Some(false) {
            break;
        }
        if content.len() >= LIMIT {
            truncated = true;
            break;
        }
    }
    send(&call, "guest-file-close", &json!({"handle": handle}))?;
    let mut row =
        json!({"content": String::from_utf8_lossy(&content), "bytes-read": content.len()});
    if truncated {
        row["truncated"] = json!(1);
    }
    Ok(row)
}

/// Writes a file of the guest.
pub(crate) fn file_write(call: Call) -> ApiResult {
    let content = call.params.text("content");
    let encoded = if call.params.get("encode") == Some("0") {
        content.to_owned()
    } else {
        STANDARD.encode(content)
    };
    let handle = open(&call, "w")?;
    send(&call, "guest-file-write", &json!({"handle": handle, "buf-b64": encoded}))?;
    send(&call, "guest-file-close", &json!({"handle": handle}))?;
    NOTHING
}

/// Sets a user's password in the guest.
pub(crate) fn set_password(call: Call) -> ApiResult {
    let arguments = json!({"username": call.params.text("username"),
        "password": STANDARD.encode(call.params.text("password")),
        "crypted": call.params.flag("crypted")});
    Ok(json!({"result": send(&call, "guest-set-user-password", &arguments)?}))
}
