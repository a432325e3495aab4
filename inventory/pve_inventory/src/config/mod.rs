//! What is asked, of whom: a file, overridden by the environment, each value with where it came
//! from.

mod environment;
mod file;
mod place;

use std::fmt;
use std::path::{Path, PathBuf};

use pve_client::ConnectOptions;
use pve_types::address::Policy;
use secret::Secret;

use crate::error::Error;

pub(crate) use place::Place;

/// How many calls are under way at most; it starts with 8.
const CONCURRENCY: u32 = 64;
/// How many seconds an agent may take. A silent one is given up by PVE itself after three.
const AGENT_TIMEOUT: u32 = 5;

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Setting<T> {
    pub(crate) value: T,
    pub(crate) origin: Origin,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Nobody said anything.
    Default,
    /// The configuration file.
    File,
    /// An environment variable.
    Environment(&'static str),
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Default => "default",
            Self::File => "configuration file",
            Self::Environment(name) => name,
        })
    }
}

impl<T> Setting<T> {
    fn by_default(value: T) -> Self {
        Self { value, origin: Origin::Default }
    }

    fn from_file(value: T) -> Self {
        Self { value, origin: Origin::File }
    }

    fn from_environment(value: T, name: &'static str) -> Self {
        Self { value, origin: Origin::Environment(name) }
    }
}

/// All that a run is asked for.
#[derive(Debug, Clone)]
pub(crate) struct Config {
    /// The configuration file, if there is one.
    pub(crate) file: Option<PathBuf>,
    pub(crate) host: Option<Setting<String>>,
    pub(crate) port: Option<Setting<u16>>,
    pub(crate) user: Option<Setting<String>>,
    pub(crate) password: Option<Setting<Secret>>,
    pub(crate) token_id: Option<Setting<String>>,
    pub(crate) token_secret: Option<Setting<Secret>>,
    pub(crate) token_secret_file: Option<Setting<PathBuf>>,
    pub(crate) ca_path: Option<Setting<PathBuf>>,
    pub(crate) fingerprint: Option<Setting<String>>,
    pub(crate) validate_certs: Setting<bool>,
    pub(crate) timeout: Setting<u32>,
    pub(crate) guests: Setting<PathBuf>,
    pub(crate) templates: Setting<bool>,
    pub(crate) concurrency: Setting<u32>,
    pub(crate) agent_timeout: Setting<u32>,
    pub(crate) policy: Setting<Policy>,
}

impl Config {
    /// What is in force here.
    pub(crate) fn load(place: &Place) -> Result<Self, Error> {
        let mut config = Self::empty(place.default_guests());
        if let Some(path) = place.config_file()? {
            file::read(&path, &mut config)?;
            config.file = Some(path);
        }
        environment::overlay(&mut config, &|name| place.variable(name))?;
        if config.token_secret.is_none() {
            if let Some(file) = &config.token_secret_file {
                let secret = file::secret(&file.value)?;
                config.token_secret = Some(Setting { value: secret, origin: file.origin.clone() });
            }
        } else {
            // the secret given beats the file, and modules must not be told of the file then
            config.token_secret_file = None;
        }
        Ok(config)
    }

    fn empty(guests: PathBuf) -> Self {
        Self {
            file: None,
            host: None,
            port: None,
            user: None,
            password: None,
            token_id: None,
            token_secret: None,
            token_secret_file: None,
            ca_path: None,
            fingerprint: None,
            validate_certs: Setting::by_default(true),
            timeout: Setting::by_default(
                u32::try_from(pve_client::DEFAULT_TIMEOUT).unwrap_or(u32::MAX),
            ),
            guests: Setting::by_default(guests),
            templates: Setting::by_default(false),
            concurrency: Setting::by_default(CONCURRENCY),
            agent_timeout: Setting::by_default(AGENT_TIMEOUT),
            policy: Setting::by_default(Policy::default()),
        }
    }

    /// How to connect.
    pub(crate) fn connect_options(&self) -> ConnectOptions {
        fn value<T: Clone>(setting: Option<&Setting<T>>) -> Option<T> {
            setting.map(|setting| setting.value.clone())
        }
        ConnectOptions {
            api_host: value(self.host.as_ref()).unwrap_or_default(),
            api_port: value(self.port.as_ref()),
            api_user: value(self.user.as_ref()),
            api_password: value(self.password.as_ref()),
            api_token_id: value(self.token_id.as_ref()),
            api_token_secret: value(self.token_secret.as_ref()),
            validate_certs: self.validate_certs.value,
            ca_path: value(self.ca_path.as_ref()),
            api_fingerprint: value(self.fingerprint.as_ref()),
            api_timeout: self.timeout.value.into(),
        }
    }

    /// What is in force, with its origin, for a person. Secrets are masked.
    pub(crate) fn lines(&self) -> Vec<(&'static str, String, String)> {
        let mut lines = Vec::new();
        let file = self.file.as_ref().map_or("none found".to_owned(), |f| f.display().to_string());
        lines.push(("configuration file", file, String::new()));
        let mut add = |name, value: Option<String>, origin: Option<&Origin>| {
            let origin = origin.map(ToString::to_string).unwrap_or_default();
            lines.push((name, value.unwrap_or_else(|| "not set".to_owned()), origin));
        };
        macro_rules! optional {
            ($name:literal, $field:ident, $show:expr) => {
                let setting = self.$field.as_ref();
                add($name, setting.map(|s| $show(&s.value)), setting.map(|s| &s.origin));
            };
        }
        fn path(path: impl AsRef<Path>) -> String {
            path.as_ref().display().to_string()
        }
        optional!("host", host, String::clone);
        optional!("port", port, u16::to_string);
        optional!("user", user, String::clone);
        optional!("password", password, Secret::to_string);
        optional!("token_id", token_id, String::clone);
        optional!("token_secret", token_secret, Secret::to_string);
        optional!("token_secret_file", token_secret_file, path);
        optional!("ca_path", ca_path, path);
        optional!("fingerprint", fingerprint, String::clone);
        macro_rules! always {
            ($name:literal, $field:ident, $show:expr) => {
                add($name, Some($show(&self.$field.value)), Some(&self.$field.origin));
            };
        }
        always!("validate_certs", validate_certs, bool::to_string);
        always!("timeout", timeout, u32::to_string);
        always!("guests", guests, path);
        always!("templates", templates, bool::to_string);
        always!("concurrency", concurrency, u32::to_string);
        always!("agent_timeout", agent_timeout, u32::to_string);
        always!("address", policy, show_policy);
        lines
    }
}

fn show_policy(policy: &Policy) -> String {
    let family = match policy.prefer {
        pve_types::address::Family::Ipv4 => "ipv4",
        pve_types::address::Family::Ipv6 => "ipv6",
    };
    let mut parts = vec![format!("prefer {family}")];
    for (word, networks) in [("in", &policy.networks), ("not in", &policy.exclude)] {
        if !networks.is_empty() {
            let list: Vec<String> = networks.iter().map(ToString::to_string).collect();
            parts.push(format!("{word} {}", list.join(", ")));
        }
    }
    if let Some(net) = policy.net {
        parts.push(format!("of {net}"));
    }
    parts.join(", ")
}
