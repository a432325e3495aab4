//! The whole of what is known about a guest, for those who ask for it: every setting by its own
//! grammar, free text as it is, and keys that a template can write.

use pve_types::property::{Grammar, LxcNet};
use pve_types::{GuestKind, Setting, lenient, slot};
use serde_json::{Map, Value, json};

use crate::guest::Guest;
use crate::output::foreign;

/// Settings of a container that are property strings, by family.
const CONTAINER: [(&str, &Grammar); 3] =
    [("net", LxcNet::GRAMMAR), ("rootfs", &VOLUME), ("mp", &VOLUME)];
/// A container's volume.
const VOLUME: Grammar = Grammar { default_key: Some("volume"), ..Grammar::PLAIN };
/// Settings of a container that are numbers or truth values.
const CONTAINER_NUMBERS: [&str; 6] = ["cores", "cpulimit", "cpuunits", "memory", "swap", "tty"];
const CONTAINER_FLAGS: [&str; 6] =
    ["console", "debug", "onboot", "protection", "template", "unprivileged"];

/// `pve_config` and `pve_interfaces`.
pub(crate) fn of(guest: &Guest) -> Map<String, Value> {
    let mut facts = Map::new();
    if let Ok(config) = &guest.config {
        let mut settings = Map::new();
        for (key, text) in config.iter() {
            // a template cannot read the stars that stand for a password
            if key != "cipassword" {
                settings.insert(identifier(key), setting(guest.kind, key, text));
            }
        }
        facts.insert("pve_config".to_owned(), Value::Object(settings));
    }
    if let Ok(report) = &guest.report {
        let interfaces = report.interfaces.iter().map(|interface| {
            let addresses: Vec<Value> =
                interface.addresses.iter().map(|(ip, _)| ip.to_string().into()).collect();
            let networks: Vec<Value> = interface
                .addresses
                .iter()
                .filter_map(|(ip, prefix)| Some(format!("{ip}/{}", (*prefix)?).into()))
                .collect();
            json!({"name": foreign(&interface.name), "mac": interface.mac.map(|mac| mac.to_string()),
                   "ip_addresses": addresses, "ip_networks": networks})
        });
        facts.insert("pve_interfaces".to_owned(), interfaces.collect());
    }
    facts
}

/// A key that an expression can name: `amd-sev` is `amd_sev`. No key begins with `_` and a letter:
/// `__ansible_unsafe` and its like say something of the whole mapping to Ansible.
fn identifier(key: &str) -> String {
    let safe: String =
        key.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    let safe = safe.trim_start_matches('_');
    if safe.starts_with(|c: char| c.is_ascii_digit()) {
        format!("_{safe}")
    } else {
        safe.to_owned()
    }
}

fn setting(kind: GuestKind, key: &str, text: &str) -> Value {
    match kind {
        GuestKind::Qemu => match Setting::of(key) {
            Setting::Flag => flag(text),
            Setting::Number => number(text),
            Setting::Line(grammar) => line(grammar, text),
            Setting::Tags => crate::guest::tags(text).iter().map(|tag| foreign(tag)).collect(),
            Setting::Words | Setting::WordSet => words(text),
            Setting::Text | Setting::Description | Setting::SshKeys | Setting::Secret => {
                foreign(text)
            }
        },
        GuestKind::Lxc => {
            let family = slot(key).map_or(key, |(family, _)| family);
            if let Some((_, grammar)) = CONTAINER.iter().find(|(name, _)| *name == family) {
                return line(grammar, text);
            }
            match key {
                "tags" => crate::guest::tags(text).iter().map(|tag| foreign(tag)).collect(),
                "features" => line(&Grammar::PLAIN, text),
                "startup" => line(pve_types::property::Startup::GRAMMAR, text),
                "nameserver" | "searchdomain" => words(text),
                key if CONTAINER_NUMBERS.contains(&key) => number(text),
                key if CONTAINER_FLAGS.contains(&key) => flag(text),
                _ => foreign(text),
            }
        }
    }
}

fn line(grammar: &Grammar, text: &str) -> Value {
    let options = grammar.options(text);
    let pairs = options.iter().map(|(key, value)| (identifier(key), foreign(value)));
    Value::Object(pairs.collect())
}

fn words(text: &str) -> Value {
    text.split([' ', ',', ';']).filter(|word| !word.is_empty()).map(foreign).collect()
}

fn flag(text: &str) -> Value {
    if lenient::is_true(text) {
        true.into()
    } else if lenient::is_false(text) {
        false.into()
    } else {
        foreign(text)
    }
}

fn number(text: &str) -> Value {
    match (text.parse::<u64>(), text.parse::<f64>()) {
        (Ok(number), _) => number.into(),
        (_, Ok(number)) if number.is_finite() => number.into(),
        _ => foreign(text),
    }
}
