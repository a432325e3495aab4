//! What others publish: a file at an address that has nothing to do with the API.
//!
//! It is read in pieces, so that memory does not grow with the file; time is limited by the lack of
//! progress only. The certificates of the system are trusted, redirections are followed, and the
//! environment's proxies are used.

use std::error::Error as StdError;
use std::time::Duration;

use reqwest::redirect::Policy;
use reqwest::{Response, Url};
use thiserror::Error;
use tokio::time::timeout;

use crate::client::CONNECT;
use crate::{dns, tls};

/// How often an address may send elsewhere.
const REDIRECTS: usize = 10;

/// A file that is being read from an address.
#[derive(Debug)]
pub struct Published {
    response: Response,
    stall: Duration,
    received: u64,
}

/// Why a file cannot be had.
#[derive(Debug, Error)]
#[error("{reason}")]
pub struct PublishedError {
    reason: String,
    status: Option<u16>,
}

impl PublishedError {
    fn new(reason: String) -> Self {
        Self { reason, status: None }
    }

    /// Whether the server says that there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self.status, Some(404 | 410))
    }
}

impl Published {
    /// Asks for a file.
    ///
    /// # Errors
    /// When there is none, or nobody answers.
    pub async fn open(url: &str, stall: Duration) -> Result<Self, PublishedError> {
        let tls = tls::system().map_err(|error| told(&error))?;
        let client = reqwest::Client::builder()
            .tls_backend_preconfigured(tls)
            .dns_resolver(dns::Resolver::default())
            .redirect(policy())
            .connect_timeout(CONNECT)
            // a file that is compressed where it is published stays so
            .no_gzip()
            .user_agent(concat!("ferrite/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| told(&error))?;
        let response = timeout(stall, client.get(url).send())
            .await
            .map_err(|_| silent(stall))?
            .map_err(|error| told(&error.without_url()))?;
        let status = response.status();
        if !status.is_success() {
            let reason = format!("the server says {status}");
            return Err(PublishedError { reason, status: Some(status.as_u16()) });
        }
        Ok(Self { response, stall, received: 0 })
    }

    /// The size that the server says.
    #[must_use]
    pub fn size(&self) -> Option<u64> {
        self.response.content_length()
    }

    /// The next piece; nothing at the end of a file that came whole.
    ///
    /// # Errors
    /// When the file ends early, or nothing goes on.
    pub async fn piece(&mut self) -> Result<Option<Vec<u8>>, PublishedError> {
        let piece = timeout(self.stall, self.response.chunk()).await;
        let piece = piece.map_err(|_| silent(self.stall))?.map_err(|error| {
            let PublishedError { reason, .. } = told(&error.without_url());
            PublishedError::new(format!("it ended after {} bytes: {reason}", self.received))
        })?;
        self.received += piece.as_ref().map_or(0, |piece| piece.len() as u64);
        Ok(piece.map(Vec::from))
    }
}

/// Follows to where a file really is, but not from a protected connection to one that anybody on the
/// way can change.
fn policy() -> Policy {
    Policy::custom(|attempt| {
        let from = attempt.previous();
        if from.len() > REDIRECTS {
            return attempt.error(format!("it is sent elsewhere more than {REDIRECTS} times"));
        }
        match from.last().and_then(|from| weakened(from, attempt.url())) {
            Some(reason) => attempt.error(reason),
            None => attempt.follow(),
        }
    })
}

fn weakened(from: &Url, to: &Url) -> Option<String> {
    (from.scheme() == "https" && to.scheme() != "https").then(|| {
        let host = to.host_str().unwrap_or_default();
        format!("it is sent from https to {}://{host}, which is refused", to.scheme())
    })
}

fn silent(stall: Duration) -> PublishedError {
    PublishedError::new(format!("nothing came for {} s", stall.as_secs()))
}

/// The innermost reason, which is what happened.
fn told(error: &(dyn StdError + 'static)) -> PublishedError {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    PublishedError::new(innermost.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_is_not_given_up() {
        for (from, to, refused) in [
            ("https://a/x", "https://b/x", None),
            ("http://a/x", "http://b/x", None),
            ("http://a/x", "https://a/x", None),
            (
                "https://a/x",
                "http://u:hush@a/x",
                Some("it is sent from https to http://a, which is refused"),
            ),
        ] {
            let reason = weakened(&from.parse().unwrap(), &to.parse().unwrap());
            assert_eq!(reason.as_deref(), refused, "{from} {to}");
        }
    }
}
