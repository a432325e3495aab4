//! What happened to a request that got no answer.

use std::error::Error as StdError;

use crate::error::Error;
use crate::tls;

/// Sorts a failed request by whether the server can have seen it.
pub(crate) fn sort(error: reqwest::Error, call: String, endpoint: &str, timeout: u64) -> Error {
    let error = error.without_url();
    let mut refused_certificate = None;
    let mut texts: Vec<String> = Vec::new();
    let mut next: Option<&(dyn StdError + 'static)> = Some(&error);
    while let Some(current) = next {
        refused_certificate =
            refused_certificate.or_else(|| tls_error(current).and_then(tls::explain));
        texts.push(current.to_string());
        next = current.source();
    }
    // the innermost says what happened, the outer ones that something did
    let innermost = texts.pop().unwrap_or_default();
    if error.is_connect() || error.is_builder() {
        let reason = match refused_certificate {
            Some(reason) => reason,
            None if error.is_timeout() => "it does not answer in time".to_owned(),
            None => plain(&innermost),
        };
        return Error::NotSent { endpoint: endpoint.to_owned(), reason };
    }
    let reason = if error.is_timeout() {
        format!("no answer within {timeout} s (api_timeout)")
    } else {
        format!("{endpoint} closed the connection without an answer ({innermost})")
    };
    Error::MaybeSent { call, reason, status: None }
}

/// Why a connection of our own was not made.
pub(crate) fn unreached(error: &(dyn StdError + 'static), endpoint: &str) -> Error {
    let told = tls_error(error).and_then(tls::explain);
    let reason = told.unwrap_or_else(|| plain(&error.to_string()));
    Error::NotSent { endpoint: endpoint.to_owned(), reason }
}

/// The TLS error inside I/O errors, whose `source` skips what they wrap.
fn tls_error<'a>(error: &'a (dyn StdError + 'static)) -> Option<&'a rustls::Error> {
    match error.downcast_ref::<std::io::Error>() {
        Some(io) => tls_error(io.get_ref()?),
        None => error.downcast_ref(),
    }
}

fn plain(text: &str) -> String {
    let lower = text.to_ascii_lowercase();
    // hickory's words for a name that nobody knows
    if lower.contains("no records found") || lower.contains("no connections available") {
        return "its name is not known here".to_owned();
    }
    // what rustls says when the other side speaks plain text
    if lower.contains("corrupt message") || lower.contains("invalid content type") {
        return "it does not speak TLS there".to_owned();
    }
    match text.split_once(" (os error") {
        Some((text, _)) => text.to_ascii_lowercase(),
        None => text.to_owned(),
    }
}
