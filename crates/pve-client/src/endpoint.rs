//! One place where the API answers: a host and a port.

use std::fmt;
use std::net::Ipv6Addr;

use crate::options::OptionsError;

const PORT: u16 = 8006;

/// The path that the API's paths are below.
pub(crate) const ROOT: &str = "/api2/json";

/// The host and port of an API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Endpoint {
    host: String,
    port: u16,
}

const EXPECTED: &str = "a name or address, with https:// and :PORT or without";

impl Endpoint {
    pub(crate) fn new(text: &str, port: Option<u16>) -> Result<Self, OptionsError> {
        let wrong = |expected| OptionsError::Host { value: redacted(text), expected };
        let rest = text.trim();
        if rest.is_empty() {
            return Err(OptionsError::NoHost);
        }
        let rest = match rest.split_once("://") {
            Some((scheme, rest)) if scheme.eq_ignore_ascii_case("https") => rest,
            Some(_) => return Err(wrong("the API is reached by https:// only")),
            None => rest,
        };
        let rest = rest.trim_end_matches('/');
        let rest = rest.strip_suffix("/api2/json").or(rest.strip_suffix("/api2")).unwrap_or(rest);
        if rest.contains('@') {
            return Err(wrong("credentials have options of their own"));
        }
        let (host, in_host) = split_port(rest).ok_or_else(|| wrong(EXPECTED))?;
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let fits = if bare.contains(':') {
            bare.parse::<Ipv6Addr>().is_ok()
        } else {
            !bare.is_empty()
                && bare.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
        };
        if !fits {
            return Err(wrong(EXPECTED));
        }
        let port = match (in_host, port) {
            (Some(in_host), Some(in_port)) if in_host != in_port => {
                return Err(OptionsError::TwoPorts { in_host, in_port });
            }
            (in_host, in_port) => in_host.or(in_port).unwrap_or(PORT),
        };
        Ok(Self { host: bare.to_owned(), port })
    }

    /// The host's name or address, without brackets.
    pub(crate) fn host(&self) -> &str {
        &self.host
    }

    /// The port.
    pub(crate) fn port(&self) -> u16 {
        self.port
    }

    /// The address of the API's root, without a slash at its end.
    pub(crate) fn base(&self) -> String {
        format!("https://{self}{ROOT}")
    }
}

/// A URL may carry a password; an error must not.
fn redacted(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((_, host)) => format!("...@{host}"),
        None => text.to_owned(),
    }
}

fn split_port(text: &str) -> Option<(&str, Option<u16>)> {
    let colon = match text.strip_prefix('[') {
        Some(rest) => {
            let end = rest.find(']')? + 2;
            match text.get(end..) {
                Some("") => None,
                Some(rest) if rest.starts_with(':') => Some(end),
                _ => return None,
            }
        }
        // more than one colon is an IPv6 address without brackets
        None if text.matches(':').count() == 1 => text.find(':'),
        None => None,
    };
    match colon {
        None => Some((text, None)),
        Some(at) => Some((&text[..at], Some(text[at + 1..].parse().ok().filter(|p| *p != 0)?))),
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.host.contains(':') {
            write!(f, "[{}]:{}", self.host, self.port)
        } else {
            write!(f, "{}:{}", self.host, self.port)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_may_carry_scheme_and_port() {
        for (text, port, shown) in [
            ("pve1", None, "pve1:8006"),
            (" pve1.example ", Some(443), "pve1.example:443"),
            ("pve1:8443", None, "pve1:8443"),
            ("pve1:8443", Some(8443), "pve1:8443"),
            ("https://pve1", None, "pve1:8006"),
            ("HTTPS://pve1:8006/", None, "pve1:8006"),
            ("https://pve1:8006/api2/json/", None, "pve1:8006"),
            ("192.0.2.10", None, "192.0.2.10:8006"),
            ("2001:db8::1", None, "[2001:db8::1]:8006"),
            ("[2001:db8::1]:443", None, "[2001:db8::1]:443"),
            ("https://[2001:db8::1]", Some(1), "[2001:db8::1]:1"),
        ] {
            assert_eq!(Endpoint::new(text, port).unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for (text, port, message) in [
            ("", None, "no API host is given: set api_host (or PROXMOX_HOST)"),
            ("http://pve1", None, "the API is reached by https:// only"),
            ("pve1:0", None, "'pve1:0' is not a host"),
            ("pve1:99999", None, "is not a host"),
            ("pve1:80:80", None, "is not a host"),
            ("pve 1", None, "is not a host"),
            ("https://pve1/somewhere", None, "is not a host"),
            ("pve1:1", Some(2), "api_host says port 1 and api_port says 2"),
            ("https://root:hunter2@pve1", None, "credentials have options of their own"),
        ] {
            let error = Endpoint::new(text, port).unwrap_err().to_string();
            assert!(error.contains(message), "{text}: {error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
