//! What a task asks for, as PVE's keys and values: checked as far as that is possible without
//! asking the server, nothing about the machine known yet.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::lenient::{is_false, is_true};
use pve_types::property::Grammar;
use pve_types::{
    DISK_BUSES, Description, FAMILIES, Setting, SshKeys, Tags, check_setting, check_words, slot,
};
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
const RENAMED: [(&str, &str); 5] = [
    ("amd_sev", "amd-sev"),
    ("nameservers", "nameserver"),
    ("numa_enabled", "numa"),
    ("searchdomains", "searchdomain"),
    ("smbios", "smbios1"),
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
        if option == "config" {
            continue;
        }
        if let Some((family, count)) = FAMILIES.iter().find(|(family, _)| family == option) {
            for (key, value) in value.as_object().into_iter().flatten() {
                match slot(key) {
                    Some((its, index)) if its == *family && u16::from(index) < *count => {}
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
    for (key, value) in params.settings.config.iter().flatten() {
        let key = own_key(key)?;
        check_setting(key).map_err(|error| at("config", &error))?;
        if wanted.insert(key.to_owned(), want(key, &serde_json::to_value(value)?)?).is_some() {
            return Err(Failure::new(format!(
                "config: '{key}' is set by an option of this task as well"
            )));
        }
    }
    for key in params.delete.iter().map(|key| key.trim()).filter(|key| !key.is_empty()) {
        if matches!(key, "name" | "vmid" | "node" | "digest" | "lock" | "meta") {
            return Err(Failure::new(format!("delete: '{key}' cannot be taken away")));
        }
        check_setting(key).map_err(|error| at("delete", &error))?;
        if wanted.insert(key.to_owned(), Want::Remove).is_some() {
            return Err(Failure::new(format!("delete: '{key}' is set by this task as well")));
        }
    }
    for key in &params.revert {
        check_setting(key).map_err(|error| at("revert", &error))?;
    }
    Ok(wanted)
}

/// A key that `config` may set.
fn own_key(key: &str) -> Result<&str, Failure> {
    let plain =
        |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-_".contains(&byte);
    let hint = match key {
        "cdrom" => return Ok("ide2"),
        "name" | "vmid" | "node" => "it says which machine is meant and has an option of its own",
        "cipassword" => "a password has the option cipassword, which hides it",
        "template" => "state: template makes one of a machine",
        "delete"
        | "digest"
        | "force"
        | "revert"
        | "skiplock"
        | "background_delay"
        | "import-working-storage" => "it is a parameter of PVE's call and no setting",
        "lock" => "a lock belongs to the task that holds it",
        "meta" | "parent" | "snaptime" | "vmstate" => "PVE keeps it for itself",
        _ if key.is_empty() || !key.bytes().all(plain) => "PVE's keys are like cpuunits or scsi0",
        _ => return Ok(key),
    };
    Err(Failure::new(format!("config: '{key}' cannot be set here: {hint}")))
}

fn want(key: &str, value: &Value) -> Result<Want, Failure> {
    if value.is_null() {
        return Ok(Want::Remove);
    }
    let want = match Setting::of(key) {
        Setting::Line(grammar) => sub_options(key, grammar, value).map_err(|e| at(key, &e))?,
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
        _ if value.is_object() => {
            return Err(Failure::new(format!("{key}: a text is wanted, not a mapping")));
        }
        Setting::Flag => match joined(value, " ").trim() {
            "" => Want::Remove,
            text if is_true(text) => Want::Text("1".to_owned()),
            text if is_false(text) => Want::Text("0".to_owned()),
            text => {
                return Err(Failure::new(format!("{key}: '{text}' is neither true nor false")));
            }
        },
        Setting::WordSet => Want::Text(joined(value, ",")),
        _ => Want::Text(joined(value, " ")),
    };
    if let Want::Text(text) = &want
        && !text.trim().is_empty()
    {
        check_words(key, text).map_err(|error| at(key, &error))?;
    }
    Ok(match want {
        // PVE takes no empty value for most keys, and means by it that the key is not set.
        Want::Text(text) if text.trim().is_empty() => Want::Remove,
        Want::Options(options) if options.is_empty() => Want::Remove,
        // nothing is left of what is written as a whole
        Want::Options(options) if !is_kept(key) && options.values().all(Option::is_none) => {
            Want::Remove
        }
        Want::Options(options) if !is_kept(key) => {
            complete(key, &options)?;
            Want::Options(options)
        }
        want => want,
    })
}

/// Makes sure that a line that is written as a whole lacks nothing.
fn complete(key: &str, options: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
    let Setting::Line(grammar) = Setting::of(key) else { return Ok(()) };
    let given = options.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?)));
    grammar.check_complete(&given.collect()).map_err(|error| at(key, &error))
}

/// Whether what a task does not say of this property string stays as it is.
fn is_kept(key: &str) -> bool {
    key == "smbios1"
        || slot(key).is_some_and(|(family, _)| family == "net" || DISK_BUSES.contains(&family))
}

/// An error of one option.
pub(crate) fn at(option: &str, error: &dyn std::fmt::Display) -> Failure {
    Failure::new(format!("{option}: {error}"))
}

/// Sub-options, each of them one that PVE knows, or the storage that stands for a drive's volume.
fn sub_options(key: &str, grammar: &Grammar, value: &Value) -> Result<Want, String> {
    let drive = slot(key).is_some_and(|(family, _)| DISK_BUSES.contains(&family));
    let more: &[&str] = if drive { &["storage"] } else { &[] };
    let Some(mapping) = value.as_object() else {
        let line = joined(value, ";");
        grammar.check_line(&line, more)?;
        let options = grammar.options(&line);
        let written = |(name, text): (String, String)| {
            let text = grammar.written_value(&name, &text);
            (name, Some(text))
        };
        return Ok(Want::Options(options.into_iter().map(written).collect()));
    };
    let mut options = BTreeMap::new();
    for (name, value) in mapping {
        let value = (!value.is_null()).then(|| joined(value, ";"));
        let written = name.as_str();
        let mut put =
            |name: &str, value: Option<String>| match options.insert(name.to_owned(), value) {
                Some(_) => Err(format!("{name} is given twice")),
                None => Ok(()),
            };
        if grammar.is_model(written) {
            // `virtio: BC:24:...`, as the line would say it
            put("model", Some(written.to_owned()))?;
            put("macaddr", value)?;
            continue;
        }
        let name = grammar.written_key(written);
        grammar.check_key(name, more)?;
        // YAML reads `discard: on` as true.
        let value = match value.as_deref() {
            Some("1") if name == "discard" => Some("on".to_owned()),
            Some("0") if name == "discard" => Some("ignore".to_owned()),
            _ => value,
        };
        match value.as_deref() {
            // `model: virtio=BC:24:...`, as it stands in a configuration
            Some(line) if grammar.models && name == "model" && line.contains('=') => {
                grammar.check_line(line, more)?;
                for (name, text) in grammar.options(line) {
                    put(&name, Some(text))?;
                }
                continue;
            }
            Some(text) => grammar.check_value(name, text)?,
            None => {}
        }
        put(name, value.map(|value| grammar.written_value(name, &value)))?;
    }
    Ok(Want::Options(options))
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
mod tests;
