//! One cluster: where it answers, who calls, what is trusted.

use std::path::PathBuf;

use pve_client::{Client, ConnectOptions};
use secret::Secret;

use crate::config::Setting;
use crate::config::secrets;
use crate::error::Error;

/// A cluster to ask.
#[derive(Debug, Clone)]
pub(crate) struct Cluster {
    /// What it is called here; only one of several needs a name.
    pub(crate) name: Option<String>,
    /// Its nodes as far as they are to be asked; the first one that answers is.
    pub(crate) endpoints: Option<Setting<Vec<String>>>,
    pub(crate) port: Option<Setting<u16>>,
    pub(crate) user: Option<Setting<String>>,
    pub(crate) password: Option<Setting<Secret>>,
    pub(crate) password_file: Option<Setting<PathBuf>>,
    pub(crate) password_command: Option<Setting<Vec<String>>>,
    pub(crate) token_id: Option<Setting<String>>,
    pub(crate) token_secret: Option<Setting<Secret>>,
    pub(crate) token_secret_file: Option<Setting<PathBuf>>,
    pub(crate) token_secret_command: Option<Setting<Vec<String>>>,
    pub(crate) ca_path: Option<Setting<PathBuf>>,
    /// One for all endpoints, or one for each in their order.
    pub(crate) fingerprints: Option<Setting<Vec<String>>>,
    pub(crate) validate_certs: Setting<bool>,
}

impl Default for Cluster {
    fn default() -> Self {
        Self {
            name: None,
            endpoints: None,
            port: None,
            user: None,
            password: None,
            password_file: None,
            password_command: None,
            token_id: None,
            token_secret: None,
            token_secret_file: None,
            token_secret_command: None,
            ca_path: None,
            fingerprints: None,
            validate_certs: Setting::by_default(true),
        }
    }
}

impl Cluster {
    /// Checks what can be checked without asking anyone, and drops what something else goes before.
    pub(crate) fn settle(&mut self) -> Result<(), Error> {
        if self.token_secret.is_some() {
            // the secret given beats the file, and modules must not be told of the file then
            (self.token_secret_file, self.token_secret_command) = (None, None);
        }
        if self.password.is_some() {
            (self.password_file, self.password_command) = (None, None);
        }
        for file in [&self.token_secret_file, &self.password_file].into_iter().flatten() {
            secrets::tight(&file.value)?;
        }
        Ok(())
    }

    /// The addresses of its nodes.
    pub(crate) fn hosts(&self) -> &[String] {
        self.endpoints.as_ref().map(|setting| setting.value.as_slice()).unwrap_or_default()
    }

    /// The fingerprint that an endpoint's certificate must have.
    pub(crate) fn fingerprint(&self, endpoint: usize) -> Option<&String> {
        let list = &self.fingerprints.as_ref()?.value;
        list.get(endpoint).or_else(|| list.first().filter(|_| list.len() == 1))
    }

    /// A client for each endpoint. Only here the secret is read or its command run.
    pub(crate) fn connect(&self, timeout: u32) -> Result<Vec<Client>, Error> {
        let secret = |given: &Option<Setting<Secret>>,
                      file: &Option<Setting<PathBuf>>,
                      command: &Option<Setting<Vec<String>>>,
                      key: &'static str| {
            Ok::<_, Error>(match (given, file, command) {
                (Some(given), _, _) => Some(given.value.clone()),
                (None, Some(file), _) => Some(secrets::file(&file.value)?),
                (None, None, Some(command)) => {
                    Some(secrets::command(&command.value, key, timeout)?)
                }
                (None, None, None) => None,
            })
        };
        let token_secret = secret(
            &self.token_secret,
            &self.token_secret_file,
            &self.token_secret_command,
            "token_secret_command",
        )?;
        let password = secret(
            &self.password,
            &self.password_file,
            &self.password_command,
            "password_command",
        )?;
        let text = |setting: &Option<Setting<String>>| setting.as_ref().map(|s| s.value.clone());
        let nowhere = [String::new()];
        let hosts = if self.hosts().is_empty() { &nowhere[..] } else { self.hosts() };
        let clients = hosts.iter().enumerate().map(|(index, host)| {
            let options = ConnectOptions {
                api_host: host.clone(),
                api_port: self.port.as_ref().map(|port| port.value),
                api_user: text(&self.user),
                api_password: password.clone(),
                api_token_id: text(&self.token_id),
                api_token_secret: token_secret.clone(),
                validate_certs: self.validate_certs.value,
                ca_path: self.ca_path.as_ref().map(|path| path.value.clone()),
                api_fingerprint: self.fingerprint(index).cloned(),
                api_timeout: timeout.into(),
            };
            Client::connect(&options).map_err(Error::from)
        });
        clients.collect()
    }
}
