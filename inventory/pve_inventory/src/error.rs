//! What stops the whole inventory. What concerns one guest is a reason at that guest instead.

use std::path::PathBuf;

use pve_types::Vmid;
use thiserror::Error;

/// A failure of the run: one sentence on standard error, and nothing on standard output.
#[derive(Debug, Error)]
pub(crate) enum Error {
    /// A file cannot be read.
    #[error("failed to read {path}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file is not what it should be.
    #[error("{path}: {reason}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong, with the key and what is allowed.
        reason: String,
    },
    /// Anyone may say where the secret is sent.
    #[error(
        "{path} can be changed by anyone, so that the secret could be sent elsewhere: chmod o-w \
         {path} (its mode is {mode:04o})"
    )]
    OpenConfig {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A secret lies open.
    #[error(
        "{path} holds a secret and others can read it: chmod 600 {path} (its mode is {mode:04o})"
    )]
    OpenSecret {
        /// The file.
        path: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// A command that should print a secret does not.
    #[error("{key} {reason}")]
    SecretCommand {
        /// The key that names it.
        key: &'static str,
        /// What happened.
        reason: String,
    },
    /// An environment variable is not what it should be.
    #[error("{name} is '{value}': {expected}")]
    Environment {
        /// The variable.
        name: String,
        /// Its value.
        value: String,
        /// What would be right.
        expected: &'static str,
    },
    /// The API cannot be asked.
    #[error("{}", said(.0))]
    Api(#[from] pve_client::Error),
    /// A spec and the cluster do not agree.
    #[error(
        "{path} says vmid {vmid}, and guest {vmid} is called '{found}', not '{expected}': correct \
         the spec's vmid or rename one of them"
    )]
    Mismatch {
        /// The spec.
        path: PathBuf,
        /// Its vmid.
        vmid: Vmid,
        /// The name of that guest.
        found: String,
        /// The spec's name.
        expected: String,
    },
    /// A spec says what its guest is not.
    #[error(
        "{path} says vm, guest {vmid}{name} is a container: give the spec another name and vmid, or \
         remove it"
    )]
    Kind {
        /// The spec.
        path: PathBuf,
        /// The guest's number.
        vmid: Vmid,
        /// Its name in brackets, if it is known.
        name: String,
    },
    /// A spec could mean several guests.
    #[error(
        "{path} could mean any of the guests {ids}, which are all called '{name}': give {hint}"
    )]
    Ambiguous {
        /// The spec.
        path: PathBuf,
        /// The name they share.
        name: String,
        /// Their vmids.
        ids: String,
        /// What would tell them apart.
        hint: &'static str,
    },
    /// The list is empty, and so are the rights.
    #[error(
        "{0} has no privileges at all and therefore sees no guest: grant it PVEAuditor on /vms (a \
         token with privilege separation needs it for itself)"
    )]
    NoRights(String),
    /// No endpoint of a cluster answers.
    #[error("{0}")]
    Unreachable(String),
    /// The cache cannot be written.
    #[error("failed to keep what was read in {path}: {source}")]
    Cache {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// One of several clusters.
    #[error("cluster '{name}': {source}")]
    Cluster {
        /// What it is called.
        name: String,
        /// What is wrong.
        source: Box<Error>,
    },
    /// Something is missing, and nothing may be.
    #[error("strict: {0}")]
    Strict(String),
    /// A spec names a cluster that is not there.
    #[error("{path}: cluster '{name}' is not in the configuration, which has {known}")]
    NoCluster {
        /// The spec.
        path: PathBuf,
        /// What it says.
        name: String,
        /// Those that are there.
        known: String,
    },
    /// No guest of this name or number.
    #[error("no guest is called '{0}' or has that vmid")]
    NoGuest(String),
    /// The program itself cannot work here.
    #[error("failed to start: {source}")]
    Runtime {
        /// Why.
        source: std::io::Error,
    },
}

/// The modules' options, and the configuration's keys for the same.
const KEYS: [(&str, &str); 8] = [
    ("api_fingerprint", "fingerprint"),
    ("api_host", "host"),
    ("api_password", "password_file"),
    ("api_port", "port"),
    ("api_timeout", "timeout"),
    ("api_token_id", "token_id"),
    ("api_token_secret", "token_secret_file"),
    ("api_user", "user"),
];

/// What the API's client says, which speaks of the modules' options, with the keys that a reader of
/// this inventory's configuration knows. The server's own words stay as they are.
pub(crate) fn said(error: &pve_client::Error) -> String {
    let text = error.to_string();
    let servers = matches!(error, pve_client::Error::Refused(_) | pve_client::Error::Task(_));
    if servers && error.kind() != Some(&pve_client::Kind::SecondFactor) {
        return text;
    }
    KEYS.iter().fold(text, |text, (option, key)| text.replace(option, key))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pve_client::{ConnectOptions, Error as Api};
    use secret::Secret;

    #[test]
    fn messages_name_the_keys_of_the_configuration() {
        let whole = || ConnectOptions {
            api_host: "pve1".into(),
            api_token_id: Some("ansible@pve!ci".into()),
            api_token_secret: Some(Secret::new("hush")),
            ..ConnectOptions::default()
        };
        let none = || ConnectOptions { api_token_id: None, api_token_secret: None, ..whole() };
        let password = || Some(Secret::new("hush"));
        for (options, text) in [
            (ConnectOptions { api_host: String::new(), ..whole() }, "set host (or PROXMOX_HOST)"),
            (
                ConnectOptions { api_host: "pve1:1".into(), api_port: Some(2), ..whole() },
                "host says port 1 and port says 2",
            ),
            (
                ConnectOptions { api_fingerprint: Some("AA".into()), ..whole() },
                "fingerprint 'AA' is not a SHA-256 fingerprint",
            ),
            (
                none(),
                "set token_id and token_secret_file (or PROXMOX_TOKEN_ID and \
                 PROXMOX_TOKEN_SECRET), or user and password_file",
            ),
            (
                ConnectOptions { api_token_secret: None, ..whole() },
                "set token_secret_file (or PROXMOX_TOKEN_SECRET)",
            ),
            (ConnectOptions { api_token_id: None, ..whole() }, "set token_id (or"),
            (ConnectOptions { api_password: password(), ..none() }, "set user (or PROXMOX_USER)"),
            (
                ConnectOptions { api_password: password(), api_user: Some("a".into()), ..none() },
                "user 'a' has no realm",
            ),
            (
                ConnectOptions { api_token_id: Some("a@pve!".into()), ..whole() },
                "token_id is wrong: ",
            ),
            (ConnectOptions { api_timeout: 0, ..whole() }, "timeout is 0"),
        ] {
            let text_of = said(&Api::Options(options.check().unwrap_err()));
            assert!(text_of.contains(text) && !text_of.contains("api_"), "{text_of}");
        }
    }

    #[test]
    fn the_servers_words_stay() {
        let refusal = |kind| {
            said(&Api::Refused(Box::new(pve_client::Refusal {
                call: "GET /x".to_owned(),
                status: 500,
                message: "api_user is odd".to_owned(),
                errors: std::collections::BTreeMap::new(),
                kind,
                caller: "user 'a@pam'".to_owned(),
            })))
        };
        assert_eq!(refusal(pve_client::Kind::Other), "api_user is odd (GET /x)");
        let second = refusal(pve_client::Kind::SecondFactor);
        assert!(second.contains("an API token (token_id and token_secret_file)"), "{second}");
    }
}
