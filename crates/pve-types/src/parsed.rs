//! A VM's configuration as structures, for whoever looks at it in a playbook.
//!
//! What cannot be parsed stays text, so that nothing is lost.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::lenient::{is_false, is_true};
use crate::{Setting, SshKeys, Tags};

/// What stands in place of a secret.
const MASK: &str = "VALUE_SPECIFIED_IN_NO_LOG_PARAMETER";

/// One value of a configuration.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Parsed {
    /// 0 or 1.
    Flag(bool),
    /// A whole number.
    Number(i64),
    /// A number with a fraction.
    Fraction(f64),
    /// Text.
    Text(String),
    /// Labels, words or keys.
    List(Vec<String>),
    /// The sub-options of a property string, by their full names.
    Options(BTreeMap<String, String>),
}

/// A configuration, each value by its own grammar; secrets masked.
#[must_use]
pub fn parsed(config: &BTreeMap<String, String>) -> BTreeMap<String, Parsed> {
    config.iter().map(|(key, value)| (key.clone(), value_of(key, value))).collect()
}

fn value_of(key: &str, value: &str) -> Parsed {
    let text = || Parsed::Text(value.to_owned());
    let list =
        |words: &mut dyn Iterator<Item = &str>| Parsed::List(words.map(str::to_owned).collect());
    match Setting::of(key) {
        Setting::Flag if is_true(value) => Parsed::Flag(true),
        Setting::Flag if is_false(value) => Parsed::Flag(false),
        Setting::Number => match (value.parse(), value.parse()) {
            (Ok(number), _) => Parsed::Number(number),
            (_, Ok(number)) => Parsed::Fraction(number),
            _ => text(),
        },
        Setting::Tags => value.parse().map_or_else(|_| text(), |tags: Tags| list(&mut tags.iter())),
        Setting::Words => {
            list(&mut value.split([' ', ',', ';', '\n', '\t']).filter(|word| !word.is_empty()))
        }
        Setting::SshKeys => list(&mut SshKeys::decode(value).iter()),
        Setting::Line(grammar) => Parsed::Options(grammar.options(value)),
        Setting::Secret => Parsed::Text(MASK.to_owned()),
        _ => text(),
    }
}

/// A value as a person reads it: keys decoded, secrets masked.
#[must_use]
pub fn shown(key: &str, value: &str) -> String {
    match Setting::of(key) {
        Setting::Secret => MASK.to_owned(),
        Setting::SshKeys => SshKeys::decode(value).to_string(),
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn each_value_by_its_own_grammar() {
        for (key, value, expected) in [
            ("onboot", "1", json!(true)),
            ("onboot", "maybe", json!("maybe")),
            ("cores", "2", json!(2)),
            ("cpulimit", "1.5", json!(1.5)),
            ("tags", "web;Prod", json!(["prod", "web"])),
            ("tags", " ", json!([])),
            ("nameserver", "1.1.1.1 9.9.9.9", json!(["1.1.1.1", "9.9.9.9"])),
            ("sshkeys", "ssh-rsa%20AAAA%0A", json!(["ssh-rsa AAAA"])),
            ("cipassword", "$5$abc", json!(MASK)),
            ("description", "owner=ops,x", json!("owner=ops,x")),
            (
                "net0",
                "virtio=BC:24:11:00:00:01,bridge=vmbr0",
                json!({"model": "virtio", "macaddr": "BC:24:11:00:00:01", "bridge": "vmbr0"}),
            ),
            ("smbios1", "base64=1,serial=QUJDPT0=", json!({"base64": "1", "serial": "QUJDPT0="})),
            ("later", "a=b", json!("a=b")),
        ] {
            let config = [(key.to_owned(), value.to_owned())].into();
            let parsed = serde_json::to_value(parsed(&config)).unwrap();
            assert_eq!(parsed.get(key).unwrap_or(&Value::Null), &expected, "{key} {value}");
        }
        assert_eq!(shown("cipassword", "x"), MASK);
        assert_eq!(shown("sshkeys", "ssh-rsa%20AAAA"), "ssh-rsa AAAA");
    }
}
