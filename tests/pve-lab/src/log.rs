//! The log of requests, secrets masked.

use std::fs::File;
use std::io::Write;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// One request as it was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// The method.
    pub method: String,
    /// The path below `/api2/json`.
    pub path: String,
    /// The parameters, secrets masked.
    pub params: Vec<(String, String)>,
    /// Who asked, `user@realm!token`; empty if nobody was let in.
    pub user: String,
    /// The status of the answer; 0 if the connection was dropped.
    pub status: u16,
    /// Milliseconds since the lab began.
    pub at: u64,
}

impl Request {
    /// Whether the request asks for a change. Logging in is none.
    pub fn is_write(&self) -> bool {
        self.method != "GET" && self.path != "/access/ticket"
    }
}

const SECRETS: &[&str] =
    &["password", "cipassword", "otp", "secret", "value", "content", "tfa-challenge"];

/// Hides a parameter's value if it is a secret.
pub(crate) fn mask(name: &str, value: &str) -> String {
    if SECRETS.contains(&name) { "********".to_owned() } else { value.to_owned() }
}

/// The log: in memory, and in a file if there is one.
#[derive(Debug, Default)]
pub(crate) struct RequestLog {
    entries: Mutex<Vec<Request>>,
    file: Option<Mutex<File>>,
}

impl RequestLog {
    /// A log that is also written to a file.
    pub(crate) fn new(file: Option<File>) -> Self {
        Self { entries: Mutex::default(), file: file.map(Mutex::new) }
    }

    /// Adds a request.
    pub(crate) fn add(&self, request: Request) {
        if let Some(file) = &self.file
            && let Ok(line) = serde_json::to_string(&request)
        {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            // a full disk must not take the API down with it
            let _ = file.write_all(format!("{line}\n").as_bytes());
        }
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).push(request);
    }

    /// All requests so far.
    pub(crate) fn all(&self) -> Vec<Request> {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Forgets them.
    pub(crate) fn clear(&self) {
        self.entries.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_are_masked() {
        assert_eq!(mask("cipassword", "s3cret"), "********");
        assert_eq!(mask("memory", "128"), "128");
    }
}
