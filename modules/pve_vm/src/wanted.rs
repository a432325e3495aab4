//! What a task asks for, as PVE's keys and values: checked as far as that is possible without
//! asking the server, nothing about the machine known yet.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::property::Grammar;
use pve_types::{Description, Setting, SshKeys, Tags, slot};
use serde_json::Value;

use crate::params::Params;

/// What is wanted of one key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Want {
    /// This value.
    Text(String),
    /// These sub-options; one that is nothing is taken away.
    Options(BTreeMap<String, Option<String>>),
    /// That it is not set.
    Remove,
}

/// What is wanted, by PVE's keys.
pub(crate) type Wanted = BTreeMap<String, Want>;

/// Options whose name is not PVE's, which would clash with another or is less plain.
const RENAMED: [(&str, &str); 3] =
    [("nameservers", "nameserver"), ("searchdomains", "searchdomain"), ("numa_enabled", "numa")];

/// Families of slots and how many slots each has.
const FAMILIES: [(&str, u8); 7] = [
    ("ide", 4),
    ("ipconfig", 32),
    ("net", 32),
    ("sata", 6),
    ("scsi", 31),
    ("serial", 4),
    ("virtio", 16),
];

/// Sub-options that PVE writes with a hyphen and that YAML users write with an underscore.
const HYPHENATED: [&str; 14] = [
    "aw-bits",
    "enable-s3",
    "enable-s4",
    "freeze-fs",
    "freeze-fs-on-backup",
    "guest-fsfreeze",
    "guest-phys-bits",
    "host-tunnel",
    "hv-vendor-id",
    "import-from",
    "ms-cert",
    "phys-bits",
    "pre-enrolled-keys",
    "reported-model",
];

/// What a task asks for.
///
/// # Errors
/// Names the option and what would be right.
pub(crate) fn wanted(params: &Params) -> Result<Wanted, Failure> {
    let mut wanted = Wanted::new();
    let settings = serde_json::to_value(&params.settings)?;
    let settings = settings.as_object().into_iter().flatten();
    for (option, value) in settings.filter(|(_, value)| !value.is_null()) {
        if let Some((family, count)) = FAMILIES.iter().find(|(family, _)| family == option) {
            for (key, value) in value.as_object().into_iter().flatten() {
                match slot(key) {
                    Some((its, index)) if its == *family && index < *count => {}
                    _ => {
                        let text = format!(
                            "{option}: '{key}' is not one of {family}0 to {family}{}",
                            count - 1
                        );
                        return Err(Failure::new(text));
                    }
                }
                wanted.insert(key.clone(), want(key, value)?);
            }
            continue;
        }
        let key = RENAMED.iter().find(|(ours, _)| ours == option).map_or(&**option, |(_, its)| its);
        wanted.insert(key.to_owned(), want(key, value)?);
    }
    for key in params.delete.iter().map(|key| key.trim()).filter(|key| !key.is_empty()) {
        if matches!(key, "name" | "vmid" | "node" | "digest" | "lock" | "meta") {
            return Err(Failure::new(format!("delete: '{key}' cannot be taken away")));
        }
        if wanted.insert(key.to_owned(), Want::Remove).is_some() {
            return Err(Failure::new(format!("delete: '{key}' is set by this task as well")));
        }
    }
    Ok(wanted)
}

fn want(key: &str, value: &Value) -> Result<Want, Failure> {
    if value.is_null() {
        return Ok(Want::Remove);
    }
    let want = match Setting::of(key) {
        Setting::Line(grammar) => sub_options(key, grammar, value),
        Setting::Tags => {
            let tags: Tags = joined(value, ";").parse().map_err(|error| at("tags", &error))?;
            Want::Text(tags.to_string())
        }
        Setting::SshKeys => {
            let keys = SshKeys::from_text(&joined(value, "\n")).map_err(|e| at("sshkeys", &e))?;
            Want::Text(keys.encode())
        }
        Setting::Description => {
            let text = joined(value, "\n");
            if text.len() > Description::MAX {
                let text = format!(
                    "description: {} bytes are more than the {} that PVE keeps",
                    text.len(),
                    Description::MAX
                );
                return Err(Failure::new(text));
            }
            Want::Text(text)
        }
        _ => Want::Text(joined(value, " ")),
    };
    Ok(match want {
        // PVE takes no empty value for most keys, and means by it that the key is not set.
        Want::Text(text) if text.trim().is_empty() => Want::Remove,
        Want::Options(options) if options.is_empty() => Want::Remove,
        want => want,
    })
}

/// An error of one option.
pub(crate) fn at(option: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{option}: {error}"))
}

fn sub_options(key: &str, grammar: &Grammar, value: &Value) -> Want {
    let Some(mapping) = value.as_object() else {
        let options = grammar.options(&joined(value, ";"));
        return Want::Options(options.into_iter().map(|(name, text)| (name, Some(text))).collect());
    };
    let mut options = BTreeMap::new();
    for (name, value) in mapping {
        let hyphens = name.replace('_', "-");
        let name =
            HYPHENATED.iter().find(|known| **known == hyphens).map_or(&**name, |known| known);
        let name = grammar.canonical_key(name);
        let value = (!value.is_null()).then(|| joined(value, ";"));
        // YAML reads `discard: on` as true.
        let value = match value.as_deref() {
            Some("1") if name == "discard" => Some("on".to_owned()),
            Some("0") if name == "discard" => Some("ignore".to_owned()),
            _ => value,
        };
        options.insert(name.to_owned(), value);
    }
    if key.starts_with("net")
        && let Some(Some(model)) = options.get("model")
        && model.contains('=')
    {
        // `model: virtio=BC:24:...` as it stands in a configuration
        let line = grammar.options(model);
        options.extend(line.into_iter().map(|(name, text)| (name, Some(text))));
    }
    Want::Options(options)
}

fn joined(value: &Value, separator: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Bool(value) => if *value { "1" } else { "0" }.to_owned(),
        Value::Array(items) => {
            items.iter().map(|item| joined(item, separator)).collect::<Vec<_>>().join(separator)
        }
        Value::Number(number) => {
            let text = number.to_string();
            text.strip_suffix(".0").map(str::to_owned).unwrap_or(text)
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use serde_json::json;

    #[test]
    fn settings_become_pves_keys() {
        let params = params(&json!({
            "memory": 2048,
            "onboot": true,
            "cpulimit": 1.5,
            "tags": ["web", "Prod"],
            "nameservers": ["1.1.1.1", "9.9.9.9"],
            "numa_enabled": false,
            "agent": true,
            "boot": {"order": ["scsi0", "net0"]},
            "sshkeys": "ssh-ed25519 AAAA+b/c= me@host:1\n",
            "net": {"net0": "virtio,bridge=vmbr0", "net1": null},
            "scsi": {"scsi0": {"storage": "local", "import_from": "local:import/x.qcow2", "discard": true}},
            "description": "",
            "delete": ["vga"],
        }));
        let wanted = wanted(&params).unwrap();
        let options = |pairs: &[(&str, &str)]| {
            Want::Options(
                pairs.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect(),
            )
        };
        let text = |text: &str| Want::Text(text.to_owned());
        for (key, want) in [
            ("memory", options(&[("current", "2048")])),
            ("onboot", text("1")),
            ("cpulimit", text("1.5")),
            ("tags", text("prod;web")),
            ("nameserver", text("1.1.1.1 9.9.9.9")),
            ("numa", text("0")),
            ("agent", options(&[("enabled", "1")])),
            ("boot", options(&[("order", "scsi0;net0")])),
            ("sshkeys", text("ssh-ed25519%20AAAA%2Bb%2Fc%3D%20me%40host%3A1")),
            ("net0", options(&[("model", "virtio"), ("bridge", "vmbr0")])),
            ("net1", Want::Remove),
            (
                "scsi0",
                options(&[
                    ("storage", "local"),
                    ("import-from", "local:import/x.qcow2"),
                    ("discard", "on"),
                ]),
            ),
            ("description", Want::Remove),
            ("vga", Want::Remove),
        ] {
            assert_eq!(wanted.get(key), Some(&want), "{key}");
        }
        assert_eq!(wanted.len(), 14);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (args, text) in [
            (json!({"net": {"eth0": "virtio"}}), "net: 'eth0' is not one of net0 to net31"),
            (json!({"scsi": {"scsi31": "local:1"}}), "'scsi31' is not one of scsi0 to scsi30"),
            (json!({"tags": ["we/b"]}), "tags: 'we/b' is not a tag"),
            (
                json!({"sshkeys": "/root/.ssh/id_rsa.pub"}),
                "sshkeys: '/root/.ssh/id_rsa.pub' is not",
            ),
            (json!({"description": "x".repeat(8193)}), "description: 8193 bytes are more"),
            (json!({"delete": ["cores"], "cores": 1}), "delete: 'cores' is set by this task"),
            (json!({"delete": ["name"]}), "delete: 'name' cannot be taken away"),
        ] {
            let error = wanted(&params(&args)).unwrap_err();
            assert!(error.message().contains(text), "{}", error.message());
        }
    }
}
