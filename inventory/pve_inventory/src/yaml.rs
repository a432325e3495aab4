//! YAML as Ansible writes it, as JSON as Ansible reads it from an inventory.

use std::path::Path;

use serde_json::{Map, Value, json};
use serde_yaml_ng::Value as Yaml;

use crate::error::Error;

/// Reads a file that is one mapping.
pub(crate) fn read(path: &Path) -> Result<Map<String, Value>, Error> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| Error::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|reason| Error::Content { path: path.to_owned(), reason })
}

fn parse(text: &str) -> Result<Map<String, Value>, String> {
    let yaml: Yaml = serde_yaml_ng::from_str(text).map_err(|error| error.to_string())?;
    match to_json(yaml)? {
        Value::Object(map) => Ok(map),
        Value::Null => Ok(Map::new()),
        _ => Err("it is not a mapping of keys to values".to_owned()),
    }
}

fn to_json(yaml: Yaml) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Null => Value::Null,
        Yaml::Bool(value) => value.into(),
        // JSON has no word for them, and null would drop the key without a word
        Yaml::Number(number) if number.as_f64().is_some_and(|value| !value.is_finite()) => {
            return Err(format!("{number} is no number that can be handed on: write it as a text"));
        }
        Yaml::Number(number) => serde_json::to_value(number).map_err(|error| error.to_string())?,
        Yaml::String(text) => text.into(),
        Yaml::Sequence(items) => items.into_iter().map(to_json).collect::<Result<_, _>>()?,
        Yaml::Mapping(pairs) => {
            let mut map = Map::new();
            for (key, value) in pairs {
                let key = match to_json(key)? {
                    Value::String(key) => key,
                    key @ (Value::Number(_) | Value::Bool(_)) => key.to_string(),
                    key => return Err(format!("{key} cannot be a key")),
                };
                map.insert(key, to_json(value)?);
            }
            Value::Object(map)
        }
        // Ansible's own tags have a form in JSON as well
        Yaml::Tagged(tagged) => {
            let tag = tagged.tag.to_string();
            match (tag.as_str(), to_json(tagged.value)?) {
                ("!vault", Value::String(text)) => json!({"__ansible_vault": text}),
                ("!unsafe", Value::String(text)) => json!({"__ansible_unsafe": text}),
                _ => {
                    return Err(format!(
                        "the tag {tag} is not known here (!vault and !unsafe are)"
                    ));
                }
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn yaml_becomes_what_ansible_reads() {
        for (text, json) in [
            ("", json!({})),
            (
                "a: 1\nb: [x, 1.5, true, null]\n80: y",
                json!({"a": 1, "b": ["x", 1.5, true, null], "80": "y"}),
            ),
            ("day: 20250601T000000Z", json!({"day": "20250601T000000Z"})),
            (
                "s: !vault abc\nt: !unsafe '{{ x }}'",
                json!({"s": {"__ansible_vault": "abc"}, "t": {"__ansible_unsafe": "{{ x }}"}}),
            ),
        ] {
            assert_eq!(Value::Object(parse(text).unwrap()), json, "{text}");
        }
    }

    #[test]
    fn what_is_no_mapping_is_refused() {
        for (text, reason) in [
            ("- a", "it is not a mapping"),
            ("a: 1\na: 2", "duplicate"),
            ("a: !python/object x", "the tag !python/object is not known here"),
            ("a: {", "did not find"),
            ("a: {b: [.inf]}", ".inf is no number that can be handed on: write it as a text"),
            ("a: -.inf", "-.inf is no number"),
            ("a: .nan", ".nan is no number"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }
}
