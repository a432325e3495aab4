//! Settings between what callers send, what files hold and what answers show.

use serde_json::{Value, json};

use super::super::super::params::split_list;
use super::super::super::property;
use super::super::super::schema::Schema;
use crate::state::config::{Config, Section};
use crate::state::guest::is_slot;

/// What is shown in place of a password.
const HIDDEN: &str = "**********";

/// A setting as answers show it: numbers are numbers, passwords are not shown.
pub(crate) fn shown(schema: &Schema, key: &str, value: &str) -> Value {
    if key == "cipassword" {
        return json!(HIDDEN);
    }
    let kind = schema.setting(key).map(|property| property.kind.as_str());
    let number = matches!(kind, Some("integer" | "boolean")) || key == "snaptime";
    match value.trim_start_matches('+').parse::<i64>() {
        Ok(parsed) if number => json!(parsed),
        _ => json!(value),
    }
}

/// A section as `GET .../config` shows it.
pub(crate) fn row(schema: &Schema, section: &Section, config: &Config) -> Value {
    let mut row = json!({"digest": config.digest()});
    for (key, value) in section {
        row[key] = shown(schema, key, value);
    }
    row
}

/// Tags as they are kept: lower case, sorted, each once.
pub(crate) fn tags(text: &str) -> String {
    let mut tags: Vec<String> = split_list(&text.to_lowercase());
    tags.sort();
    tags.dedup();
    if tags.is_empty() { " ".to_owned() } else { tags.join(";") }
}

/// A network card as it is kept: model and MAC first, one made up if none is given.
pub(crate) fn net(schema: &Schema, text: &str) -> String {
    let Some(keys) = schema
        .setting("net0")
        .and_then(|property| property.format.as_deref())
        .and_then(super::super::super::schema::property_format)
    else {
        return text.to_owned();
    };
    let Ok(mut parsed) = property::parse(text, keys) else { return text.to_owned() };
    let model = parsed.remove("model").unwrap_or_else(|| "virtio".to_owned());
    let mac = parsed.remove("macaddr").unwrap_or_else(crate::random::mac);
    parsed.insert("model".to_owned(), format!("{model}={mac}"));
    property::print(&parsed, "model")
}

/// The parts of a card's value: model, MAC and the rest.
pub(crate) fn net_parts(text: &str) -> (String, String, Vec<(String, String)>) {
    let mut parts = text.split(',').map(|part| part.split_once('=').unwrap_or((part, "")));
    let (model, mac) = parts.next().unwrap_or_default();
    let rest = parts.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    (model.to_owned(), mac.to_owned(), rest)
}

/// A plain setting (no drive) as it is kept; `None` removes it.
pub(crate) fn kept(schema: &Schema, key: &str, value: &str) -> Option<String> {
    match key {
        "tags" => Some(tags(value)),
        "description" => {
            let text = value.strip_suffix('\n').unwrap_or(value);
            (!text.is_empty()).then(|| text.to_owned())
        }
        key if is_slot(key, "net") => Some(net(schema, value)),
        "smbios1" | "startup" | "agent" => Some(value.to_owned()),
        _ => Some(value.to_owned()),
    }
}

/// Whether a text holds public keys, percent-encoded; PVE asks ssh-keygen.
pub(crate) fn are_ssh_keys(encoded: &str) -> bool {
    use base64::Engine;
    let text = percent_encoding::percent_decode_str(encoded).decode_utf8_lossy().into_owned();
    text.lines().filter(|line| !line.trim().is_empty()).all(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).any(|pair| {
            let known = ["ssh-", "ecdsa-", "sk-"].iter().any(|start| pair[0].starts_with(start));
            let blob = base64::engine::general_purpose::STANDARD
                .decode(pair[1])
                .or_else(|_| base64::engine::general_purpose::STANDARD_NO_PAD.decode(pair[1]));
            known
                && blob.is_ok_and(|blob| blob.get(4..4 + pair[0].len()) == Some(pair[0].as_bytes()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_kept_in_pves_order() {
        let schema = Schema::new(false);
        for (given, kept) in [
            (
                "model=virtio,macaddr=bc:24:11:aa:bb:cc,bridge=vmbr0",
                "virtio=bc:24:11:aa:bb:cc,bridge=vmbr0",
            ),
            (
                "e1000=BC:24:11:AA:BB:CD,bridge=vmbr1,mtu=1400,rate=5.5,queues=2",
                "e1000=BC:24:11:AA:BB:CD,bridge=vmbr1,mtu=1400,queues=2,rate=5.5",
            ),
        ] {
            assert_eq!(net(&schema, given), kept);
        }
        let made = net(&schema, "bridge=vmbr0,virtio");
        assert!(made.starts_with("virtio=BC:24:11:") && made.ends_with(",bridge=vmbr0"), "{made}");
    }

    #[test]
    fn tags_are_lower_case_sorted_and_unique() {
        assert_eq!(tags("web;Prod,b_1 alpha web"), "alpha;b_1;prod;web");
        assert_eq!(tags(""), " ");
    }

    #[test]
    fn public_keys_are_told_from_garbage() {
        assert!(!are_ssh_keys("not%20a%20key"));
        assert!(are_ssh_keys(
            "ssh-ed25519%20AAAAC3NzaC1lZDI1NTE5AAAAIFt4ubaYifYk3Ze5AmXlR3Soug6CiAu8wRHNdfantEDC%20a%40b"
        ));
    }
}
