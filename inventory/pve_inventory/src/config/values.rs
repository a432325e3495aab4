//! Values of the configuration file, each with a type; what is wrong names its key.

use std::path::{Path, PathBuf};

use pve_types::address::{Family, NetSlot};
use serde_json::{Map, Value};

use crate::config::{Config, Setting};

/// A mapping of the file.
pub(crate) struct Values<'a> {
    pub(crate) map: &'a Map<String, Value>,
    /// What its paths are relative to.
    pub(crate) folder: &'a Path,
    /// Where it stands, for messages.
    pub(crate) place: String,
}

impl Values<'_> {
    pub(crate) fn has(&self, key: &str) -> bool {
        self.map.get(key).is_some_and(|value| !value.is_null())
    }

    /// Refuses keys that nobody reads.
    pub(crate) fn only(&self, allowed: &[&str]) -> Result<(), String> {
        let Some(key) = self.map.keys().find(|key| !allowed.contains(&key.as_str())) else {
            return Ok(());
        };
        let hint = match key.as_str() {
            "token_secret" | "password" => "; a secret does not belong into this file",
            _ => "",
        };
        let place = &self.place;
        Err(format!("{place}unknown key '{key}'{hint}; allowed are {}", allowed.join(", ")))
    }

    /// A text; one that is empty is none.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, String> {
        Ok(self.raw_text(key)?.filter(|text| !text.trim().is_empty()))
    }

    pub(crate) fn raw_text(&self, key: &str) -> Result<Option<String>, String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(format!("{}{key} is {other}: it must be a text", self.place)),
        }
    }

    pub(crate) fn path(&self, key: &str) -> Result<Option<PathBuf>, String> {
        Ok(self.text(key)?.map(|text| self.folder.join(expand(&text))))
    }

    /// A list of texts, or a single one; an empty text is none.
    pub(crate) fn words(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        let place = &self.place;
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
            Some(Value::String(text)) => Ok(Some(vec![text.clone()])),
            Some(Value::Array(list)) if list.is_empty() => Ok(None),
            Some(Value::Array(list)) => {
                let word = |item: &Value| match item.as_str() {
                    Some(text) => Ok(text.to_owned()),
                    None => Err(format!("{place}{key}: {item} must be a text")),
                };
                list.iter().map(word).collect::<Result<_, _>>().map(Some)
            }
            Some(other) => Err(format!("{place}{key} is {other}: it must be a list of texts")),
        }
    }

    /// A command: a list of words, or a line for the shell.
    pub(crate) fn command(&self, key: &str) -> Result<Option<Vec<String>>, String> {
        match self.map.get(key) {
            Some(Value::String(line)) => {
                Ok(Some(vec!["/bin/sh".to_owned(), "-c".to_owned(), line.clone()]))
            }
            _ => self.words(key),
        }
    }

    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(value)) => Ok(Some(*value)),
            // YAML 1.1, which Ansible reads, has these words as well
            Some(Value::String(text)) if matches!(text.as_str(), "yes" | "on") => Ok(Some(true)),
            Some(Value::String(text)) if matches!(text.as_str(), "no" | "off") => Ok(Some(false)),
            Some(other) => Err(format!("{}{key} is {other}: say true or false", self.place)),
        }
    }

    pub(crate) fn number(&self, key: &str, least: u32, most: u32) -> Result<Option<u32>, String> {
        match self.map.get(key) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match value.as_u64().and_then(|value| u32::try_from(value).ok()) {
                Some(value) if (least..=most).contains(&value) => Ok(Some(value)),
                _ => Err(format!(
                    "{}{key} is {value}: it must be a number from {least} to {most}",
                    self.place
                )),
            },
        }
    }
}

/// What a person may say about the choice of an address.
pub(crate) fn policy(values: &Values<'_>, config: &mut Config) -> Result<(), String> {
    let mut policy = config.policy.value.clone();
    if let Some(net) = values.text("net")? {
        policy.net = Some(net.parse::<NetSlot>().map_err(|error| format!("net: {error}"))?);
    }
    if let Some(prefer) = values.text("prefer")? {
        policy.prefer = match prefer.as_str() {
            "ipv4" => Family::Ipv4,
            "ipv6" => Family::Ipv6,
            other => return Err(format!("prefer is '{other}': say ipv4 or ipv6")),
        };
    }
    for (key, networks) in
        [("networks", &mut policy.networks), ("exclude_networks", &mut policy.exclude)]
    {
        let list = match values.map.get(key) {
            None | Some(Value::Null) => continue,
            Some(Value::Array(list)) => list,
            Some(_) => return Err(format!("{key} is a list of networks such as 10.0.0.0/8")),
        };
        for item in list {
            let network = item.as_str().and_then(|text| text.parse().ok());
            networks.push(
                network
                    .ok_or_else(|| format!("{key}: {item} is not a network such as 10.0.0.0/8"))?,
            );
        }
    }
    if policy != config.policy.value {
        config.policy = Setting::from_file(policy);
    }
    Ok(())
}

/// `~` is the caller's home, as everywhere in Ansible's files.
fn expand(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(text),
    }
}
