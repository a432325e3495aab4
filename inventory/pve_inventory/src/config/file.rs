//! The configuration file: YAML, strict about its keys.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use pve_types::address::{Family, NetSlot};
use secret::Secret;
use serde_json::{Map, Value};

use crate::config::{Config, Setting};
use crate::error::Error;
use crate::yaml;

/// The keys that may be in it.
const KEYS: [&str; 18] = [
    "url",
    "host",
    "port",
    "user",
    "token_id",
    "token_secret_file",
    "ca_path",
    "fingerprint",
    "validate_certs",
    "timeout",
    "guests",
    "templates",
    "concurrency",
    "agent_timeout",
    "net",
    "prefer",
    "networks",
    EXCLUDE,
];
const EXCLUDE: &str = "exclude_networks";

/// Reads the file over what is there.
pub(crate) fn read(path: &Path, config: &mut Config) -> Result<(), Error> {
    let map = yaml::read(path)?;
    let folder = path.parent().unwrap_or(Path::new("."));
    apply(&map, folder, config).map_err(|reason| Error::Content { path: path.to_owned(), reason })
}

/// A secret that is a file's content. One that others can read is refused.
pub(crate) fn secret(path: &Path) -> Result<Secret, Error> {
    let failed = |source| Error::Read { path: path.to_owned(), source };
    let mode = path.metadata().map_err(failed)?.permissions().mode();
    if mode & 0o077 != 0 {
        return Err(Error::OpenSecret { path: path.to_owned() });
    }
    Ok(Secret::new(std::fs::read_to_string(path).map_err(failed)?.trim()))
}

fn apply(map: &Map<String, Value>, folder: &Path, config: &mut Config) -> Result<(), String> {
    for key in map.keys() {
        if !KEYS.contains(&key.as_str()) {
            let hint = match key.as_str() {
                "token_secret" | "password" => "; a secret does not belong into this file",
                _ => "",
            };
            let allowed = KEYS.join(", ");
            return Err(format!("unknown key '{key}'{hint}; allowed are {allowed}"));
        }
    }
    if map.contains_key("url") && (map.contains_key("host") || map.contains_key("port")) {
        return Err("url already says host and port: give url, or host and port".to_owned());
    }
    let text = |key: &str| text(map, key).map(|text| text.map(Setting::from_file));
    let path = |key: &str| -> Result<Option<Setting<PathBuf>>, String> {
        Ok(text(key)?.map(|text| Setting::from_file(folder.join(expand(&text.value)))))
    };
    config.host = text("url")?.or(text("host")?);
    if let Some(port) = number(map, "port", 65535)? {
        config.port = u16::try_from(port).ok().map(Setting::from_file);
    }
    config.user = text("user")?;
    config.token_id = text("token_id")?;
    config.fingerprint = text("fingerprint")?;
    config.token_secret_file = path("token_secret_file")?;
    config.ca_path = path("ca_path")?;
    if let Some(guests) = path("guests")? {
        config.guests = guests;
    }
    for (key, setting) in
        [("validate_certs", &mut config.validate_certs), ("templates", &mut config.templates)]
    {
        if let Some(value) = flag(map, key)? {
            *setting = Setting::from_file(value);
        }
    }
    for (key, most, setting) in [
        ("timeout", 3600, &mut config.timeout),
        ("concurrency", 256, &mut config.concurrency),
        ("agent_timeout", 3600, &mut config.agent_timeout),
    ] {
        if let Some(value) = number(map, key, most)? {
            *setting = Setting::from_file(value);
        }
    }
    policy(map, config)
}

fn policy(map: &Map<String, Value>, config: &mut Config) -> Result<(), String> {
    let mut policy = config.policy.value.clone();
    let mut given = false;
    if let Some(net) = text(map, "net")? {
        policy.net = Some(net.parse::<NetSlot>().map_err(|error| format!("net: {error}"))?);
        given = true;
    }
    if let Some(prefer) = text(map, "prefer")? {
        policy.prefer = match prefer.as_str() {
            "ipv4" => Family::Ipv4,
            "ipv6" => Family::Ipv6,
            other => return Err(format!("prefer is '{other}': say ipv4 or ipv6")),
        };
        given = true;
    }
    for (key, networks) in [("networks", &mut policy.networks), (EXCLUDE, &mut policy.exclude)] {
        let list = match map.get(key) {
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
        given = true;
    }
    if given {
        config.policy = Setting::from_file(policy);
    }
    Ok(())
}

fn text(map: &Map<String, Value>, key: &str) -> Result<Option<String>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if text.trim().is_empty() => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(other) => Err(format!("{key} is {other}: it must be a text")),
    }
}

fn flag(map: &Map<String, Value>, key: &str) -> Result<Option<bool>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(value)) => Ok(Some(*value)),
        // YAML 1.1, which Ansible reads, has these words as well
        Some(Value::String(text)) if matches!(text.as_str(), "yes" | "on") => Ok(Some(true)),
        Some(Value::String(text)) if matches!(text.as_str(), "no" | "off") => Ok(Some(false)),
        Some(other) => Err(format!("{key} is {other}: say true or false")),
    }
}

fn number(map: &Map<String, Value>, key: &str, most: u32) -> Result<Option<u32>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(value) => match value.as_u64().and_then(|value| u32::try_from(value).ok()) {
            Some(value) if (1..=most).contains(&value) => Ok(Some(value)),
            _ => Err(format!("{key} is {value}: it must be a number from 1 to {most}")),
        },
    }
}

/// `~` is the caller's home, as everywhere in Ansible's files.
fn expand(text: &str) -> PathBuf {
    match (text.strip_prefix("~/"), std::env::var_os("HOME")) {
        (Some(rest), Some(home)) => Path::new(&home).join(rest),
        _ => PathBuf::from(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn applied(value: Value) -> Result<Config, String> {
        let Value::Object(map) = value else { panic!("{value}") };
        let mut config = Config::empty("default".into());
        apply(&map, Path::new("/etc/x"), &mut config)?;
        Ok(config)
    }

    #[test]
    fn paths_are_relative_to_the_file() {
        let config = applied(json!({
            "url": "https://pve1", "token_secret_file": "secret", "ca_path": "/ca.pem",
            "guests": "../guests", "validate_certs": false, "timeout": 5, "prefer": "ipv6",
            "networks": ["10.0.0.0/8"], "exclude_networks": ["10.1.0.0/16"], "net": "net1",
        }))
        .unwrap();
        assert_eq!(config.token_secret_file.unwrap().value, Path::new("/etc/x/secret"));
        assert_eq!(config.ca_path.unwrap().value, Path::new("/ca.pem"));
        assert_eq!(config.guests.value, Path::new("/etc/x/../guests"));
        assert!(!config.validate_certs.value);
        assert_eq!(config.policy.value.prefer, Family::Ipv6);
        assert_eq!(config.policy.value.exclude.len(), 1);
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (value, text) in [
            (json!({"hots": "x"}), "unknown key 'hots'; allowed are url, host, port, user,"),
            (
                json!({"password": "x"}),
                "unknown key 'password'; a secret does not belong into this file",
            ),
            (json!({"url": "https://a", "port": 1}), "give url, or host and port"),
            (json!({"port": 0}), "port is 0: it must be a number from 1 to 65535"),
            (json!({"port": "8006"}), "port is \"8006\": it must be a number"),
            (json!({"host": 5}), "host is 5: it must be a text"),
            (json!({"validate_certs": "maybe"}), "say true or false"),
            (json!({"concurrency": 1000}), "a number from 1 to 256"),
            (json!({"networks": ["lan"]}), "networks: \"lan\" is not a network"),
            (json!({"prefer": "ipx"}), "say ipv4 or ipv6"),
            (json!({"net": "eth0"}), "net: 'eth0' is not a NIC: net0 to net31"),
        ] {
            let error = applied(value).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn a30_a_secret_file_is_tight_and_its_newline_is_not_the_secrets() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("secret");
        std::fs::write(&path, "aaaa-bbbb\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert_eq!(secret(&path).unwrap().expose(), "aaaa-bbbb");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let error = secret(&path).unwrap_err().to_string();
        assert!(error.contains("others can read it: chmod 600"), "{error}");
        assert!(!error.contains("aaaa"), "{error}");
    }
}
