//! How a connection is asked for: the options that every API module has, and the environment they
//! fall back to.
//!
//! The names are those of `community.proxmox`. Modules get the environment through the runner
//! (`x-env`), the inventory through its own configuration; both say the same.

use std::path::PathBuf;
use std::time::Duration;

use pve_types::TokenId;
use schemars::JsonSchema;
use secret::Secret;
use serde::Deserialize;
use thiserror::Error;

use crate::endpoint::Endpoint;
use crate::fingerprint::Fingerprint;

/// How long a call may take when nothing else is said. PVE's own proxy gives a call 30 s, and a
/// listing of many guests has been seen to take 9.
pub const DEFAULT_TIMEOUT: u64 = 60;

/// Where the API is, who calls, and which certificate is trusted.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub struct ConnectOptions {
    /// The host name or address of a node, with `https://` and a port or without.
    #[schemars(extend("x-env" = ["PROXMOX_HOST", "PROXMOX_URL"]))]
    pub api_host: String,
    /// The port, 8006 if neither this nor O(api_host) says another.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_PORT"]))]
    pub api_port: Option<u16>,
    /// The user with its realm, for example `ansible@pve`. Not needed when O(api_token_id) is given
    /// in full.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_USER"]))]
    pub api_user: Option<String>,
    /// The user's password. An API token is preferred, and needed when the user has a second factor.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_PASSWORD"]))]
    pub api_password: Option<Secret>,
    /// The token's id: its name, or in full `user@realm!name`.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_TOKEN_ID"]))]
    pub api_token_id: Option<String>,
    /// The token's secret. Blanks and line ends around it are ignored.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_TOKEN_SECRET"]))]
    pub api_token_secret: Option<Secret>,
    /// Whether the server's certificate is checked. With V(false) anyone on the way can read the
    /// secret; O(api_fingerprint) trusts a self-signed certificate without that.
    #[serde(default = "yes")]
    #[schemars(extend("x-env" = ["PROXMOX_VALIDATE_CERTS"]))]
    pub validate_certs: bool,
    /// A file with the certificates (PEM) of the authorities to trust in place of the system's, for
    /// example a copy of `/etc/pve/pve-root-ca.pem`.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_CA_PATH"]))]
    pub ca_path: Option<PathBuf>,
    /// The SHA-256 fingerprint of the server's certificate, as the node's certificate panel shows
    /// it. That certificate and no other is trusted then, whatever its names or issuer.
    #[serde(default)]
    #[schemars(extend("x-env" = ["PROXMOX_FINGERPRINT"]))]
    pub api_fingerprint: Option<String>,
    /// How many seconds one call may take.
    #[serde(default = "default_timeout")]
    pub api_timeout: u64,
}

fn yes() -> bool {
    true
}

fn default_timeout() -> u64 {
    DEFAULT_TIMEOUT
}

impl Default for ConnectOptions {
    fn default() -> Self {
        Self {
            api_host: String::new(),
            api_port: None,
            api_user: None,
            api_password: None,
            api_token_id: None,
            api_token_secret: None,
            validate_certs: true,
            ca_path: None,
            api_fingerprint: None,
            api_timeout: DEFAULT_TIMEOUT,
        }
    }
}

/// What is wrong with the connection's options. No secret is ever part of it.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum OptionsError {
    /// No host.
    #[error("no API host is given: set api_host (or PROXMOX_HOST)")]
    NoHost,
    /// The host is not one.
    #[error("api_host '{value}' is not a host: {expected}")]
    Host {
        /// What was given.
        value: String,
        /// What would have been right.
        expected: &'static str,
    },
    /// Two ports.
    #[error("api_host says port {in_host} and api_port says {in_port}: give one of them")]
    TwoPorts {
        /// The port in the host.
        in_host: u16,
        /// The port option.
        in_port: u16,
    },
    /// Nothing to log in with.
    #[error(
        "no credentials are given: set api_token_id and api_token_secret (or PROXMOX_TOKEN_ID and \
         PROXMOX_TOKEN_SECRET), or api_user and api_password"
    )]
    NoCredentials,
    /// A token without its secret.
    #[error("token '{0}' has no secret: set api_token_secret (or PROXMOX_TOKEN_SECRET)")]
    NoSecret(TokenId),
    /// A secret without a token.
    #[error("a token secret is given but no token id: set api_token_id (or PROXMOX_TOKEN_ID)")]
    NoTokenId,
    /// A password without its user.
    #[error("a password is given but no user: set api_user (or PROXMOX_USER)")]
    NoUser,
    /// A user without realm.
    #[error("api_user '{0}' has no realm: write it as user@realm, for example {0}@pam or {0}@pve")]
    NoRealm(String),
    /// Not a token id.
    #[error("api_token_id is wrong: {0}")]
    // no source: the sentence holds it already
    TokenId(pve_types::ParseError),
    /// A secret that no header can carry.
    #[error("{0} has characters that a token secret cannot have")]
    SecretText(&'static str),
    /// Not a fingerprint.
    #[error(
        "api_fingerprint '{0}' is not a SHA-256 fingerprint: 64 hexadecimal digits, with colons or without"
    )]
    Fingerprint(String),
    /// A call that may take no time.
    #[error("api_timeout is 0: a call needs at least a second")]
    Timeout,
}

/// Who calls.
#[derive(Debug, Clone)]
pub(crate) enum Credentials {
    /// By API token.
    Token {
        /// The token.
        id: TokenId,
        /// Its secret.
        secret: Secret,
    },
    /// By password, for a ticket.
    Password {
        /// The user with its realm.
        user: String,
        /// The password.
        password: Secret,
    },
}

/// The options, understood.
#[derive(Debug, Clone)]
pub(crate) struct Resolved {
    pub(crate) endpoint: Endpoint,
    pub(crate) credentials: Credentials,
    pub(crate) fingerprint: Option<Fingerprint>,
    pub(crate) timeout: Duration,
}

impl ConnectOptions {
    /// Checks what can be checked without asking anyone.
    ///
    /// # Errors
    /// Names the option and what would be right.
    pub fn check(&self) -> Result<(), OptionsError> {
        self.resolve().map(|_| ())
    }

    pub(crate) fn resolve(&self) -> Result<Resolved, OptionsError> {
        if self.api_timeout == 0 {
            return Err(OptionsError::Timeout);
        }
        let fingerprint = match self.api_fingerprint.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(text) => {
                Some(text.parse().map_err(|()| OptionsError::Fingerprint(text.to_owned()))?)
            }
        };
        Ok(Resolved {
            endpoint: Endpoint::new(&self.api_host, self.api_port)?,
            credentials: self.credentials()?,
            fingerprint,
            timeout: Duration::from_secs(self.api_timeout),
        })
    }

    fn credentials(&self) -> Result<Credentials, OptionsError> {
        let given = |text: &Option<String>| {
            text.as_deref().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
        };
        let (mut user, mut token) = (given(&self.api_user), given(&self.api_token_id));
        // some write the whole token into the user; what is meant is plain
        if token.is_none() && user.as_deref().is_some_and(|user| user.contains('!')) {
            token = user.take();
        }
        let secret = self.api_token_secret.as_ref().map(|secret| secret.expose().trim());
        let secret = secret.filter(|secret| !secret.is_empty());
        if let Some(token) = token {
            if let Some(user) = user.as_ref().filter(|user| !user.contains('@')) {
                return Err(OptionsError::NoRealm(user.clone()));
            }
            let id = TokenId::resolve(user.as_deref(), &token).map_err(OptionsError::TokenId)?;
            let secret = secret.ok_or_else(|| OptionsError::NoSecret(id.clone()))?;
            if !secret.bytes().all(|byte| byte.is_ascii_graphic()) {
                return Err(OptionsError::SecretText("api_token_secret"));
            }
            return Ok(Credentials::Token { id, secret: Secret::new(secret) });
        }
        if secret.is_some() {
            return Err(OptionsError::NoTokenId);
        }
        let password = self.api_password.clone().filter(|secret| !secret.expose().is_empty());
        match (user, password) {
            (Some(user), Some(_)) if !user.contains('@') => Err(OptionsError::NoRealm(user)),
            (Some(user), Some(password)) => Ok(Credentials::Password { user, password }),
            (None, Some(_)) => Err(OptionsError::NoUser),
            _ => Err(OptionsError::NoCredentials),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(user: &str, password: &str, token: &str, secret: &str) -> ConnectOptions {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        ConnectOptions {
            api_host: "pve1".into(),
            api_user: text(user),
            api_password: text(password).map(Secret::new),
            api_token_id: text(token),
            api_token_secret: text(secret).map(Secret::new),
            ..ConnectOptions::default()
        }
    }

    #[test]
    fn a30_one_token_however_it_is_written() {
        for (user, token, secret) in [
            ("ansible@pve", "ci", "aaaa-bbbb"),
            ("ansible@pve", "ansible@pve!ci", "aaaa-bbbb\n"),
            ("", "ansible@pve!ci", " aaaa-bbbb\r\n"),
            ("ansible@pve!ci", "", "aaaa-bbbb"),
        ] {
            match options(user, "", token, secret).credentials().unwrap() {
                Credentials::Token { id, secret } => {
                    assert_eq!(id.to_string(), "ansible@pve!ci");
                    assert_eq!(secret.expose(), "aaaa-bbbb");
                }
                other @ Credentials::Password { .. } => panic!("{other:?}"),
            }
        }
    }

    /// The error with its sources, as a failure shows it.
    fn said(error: &dyn std::error::Error) -> String {
        match error.source() {
            Some(source) => format!("{error}: {}", said(source)),
            None => error.to_string(),
        }
    }

    #[test]
    fn what_is_missing_is_named_and_nothing_secret_is() {
        for (user, password, token, secret, text) in [
            ("", "", "", "", "no credentials are given: set api_token_id"),
            ("root@pam", "", "", "", "no credentials are given"),
            ("root@pam", "", "ci", "", "token 'root@pam!ci' has no secret"),
            ("root@pam", "", "", "hush-hush", "no token id"),
            ("", "hush-hush", "", "", "no user: set api_user"),
            (
                "root",
                "hush-hush",
                "",
                "",
                "write it as user@realm, for example root@pam or root@pve",
            ),
            ("root", "", "ci", "hush-hush", "api_user 'root' has no realm: write it as user@realm"),
            ("root", "", "root@pam!ci", "hush-hush", "api_user 'root' has no realm"),
            ("", "", "ci", "hush-hush", "USER@REALM!NAME"),
            ("a@pve", "", "b@pve!ci", "hush-hush", "a token of a@pve"),
            ("a@pve", "", "ci", "hush\nhush-hush", "characters that a token secret cannot have"),
        ] {
            let refused = options(user, password, token, secret).check().unwrap_err();
            let error = refused.to_string();
            assert!(error.contains(text), "{error}");
            assert!(!error.contains("hush-hush"), "{error}");
            assert_eq!(said(&refused), error, "said once");
        }
    }

    #[test]
    fn every_environment_variable_of_the_contract_is_declared() {
        let schema = serde_json::to_value(schemars::schema_for!(ConnectOptions)).unwrap();
        let declared: Vec<String> = schema["properties"]
            .as_object()
            .unwrap()
            .values()
            .filter_map(|property| property["x-env"].as_array())
            .flatten()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect();
        assert_eq!(
            declared,
            [
                "PROXMOX_HOST",
                "PROXMOX_URL",
                "PROXMOX_PORT",
                "PROXMOX_USER",
                "PROXMOX_PASSWORD",
                "PROXMOX_TOKEN_ID",
                "PROXMOX_TOKEN_SECRET",
                "PROXMOX_VALIDATE_CERTS",
                "PROXMOX_CA_PATH",
                "PROXMOX_FINGERPRINT"
            ]
        );
        assert_eq!(schema["properties"]["api_token_secret"]["x-no-log"], true);
        assert_eq!(schema["properties"]["api_password"]["x-no-log"], true);
        assert_eq!(schema["required"], serde_json::json!(["api_host"]));
    }

    #[test]
    fn debug_shows_no_secret() {
        let options = options("a@pve", "hush-hush", "ci", "hush-hush");
        assert!(!format!("{options:?} {:?}", options.resolve().unwrap()).contains("hush-hush"));
    }
}
