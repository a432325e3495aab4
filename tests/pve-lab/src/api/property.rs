//! Property strings: `key=value,key=value`, with a key that may be left out.

use std::collections::BTreeMap;

use super::schema::{Format, check_value};

/// Splits a property string by its format. Aliases are resolved; the keys are sorted.
pub(crate) fn parse(text: &str, keys: &Format) -> Result<BTreeMap<String, String>, String> {
    let mut parsed = BTreeMap::new();
    for part in text.split(',') {
        if part.is_empty() {
            continue;
        }
        let (key, value) = match part.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => {
                (key.to_owned(), value.to_owned())
            }
            Some(_) => return Err("missing key in comma-separated list property".to_owned()),
            None => match default_key(part, keys) {
                Some(pair) => pair,
                None => {
                    return Err(
                        "value without key, but schema does not define a default key".to_owned()
                    );
                }
            },
        };
        let mut name = key.clone();
        if let Some(property) = keys.get(&key)
            && let Some(alias) = &property.alias
        {
            if let Some(key_alias) = &property.key_alias {
                parsed.insert(key_alias.clone(), key.clone());
            }
            name.clone_from(alias);
        }
        if parsed.insert(name.clone(), value).is_some() {
            return Err(format!("duplicate key in comma-separated list property: {name}"));
        }
    }
    Ok(parsed)
}

/// A part without `=` is the value of the default key, or a key that stands for itself
/// (`virtio` in `virtio,bridge=vmbr0`).
fn default_key(part: &str, keys: &Format) -> Option<(String, String)> {
    let (name, _) = keys.iter().find(|(_, property)| property.default_key != 0)?;
    Some((name.clone(), part.to_owned()))
}

/// Checks a property string; the text is the part after `invalid format - `.
pub(crate) fn check(name: &str, text: &str, keys: &Format) -> Result<(), String> {
    let parsed = parse(text, keys)?;
    let mut errors = String::new();
    for (key, value) in &parsed {
        let problem = match keys.get(key) {
            None => Some(
                "property is not defined in schema and the schema does not allow additional \
                 properties"
                    .to_owned(),
            ),
            Some(property) => check_value(key, value, property).err(),
        };
        if let Some(problem) = problem {
            errors.push_str(&format!("{name}.{key}: {problem}\n"));
        }
    }
    for (key, property) in keys {
        if property.optional == 0 && property.alias.is_none() && !parsed.contains_key(key) {
            errors.push_str(&format!("{name}.{key}: property is missing and it is not optional\n"));
        }
    }
    if errors.is_empty() {
        Ok(())
    } else {
        // the caller ends the text with one newline of its own
        Err(format!("format error\n{}", errors.trim_end_matches('\n').to_owned() + tail(&errors)))
    }
}

/// Nested texts that end in a newline keep it.
fn tail(errors: &str) -> &'static str {
    if errors.ends_with("\n\n") { "\n" } else { "" }
}

/// Prints a property string: the default key's value first, the others sorted.
pub(crate) fn print(parsed: &BTreeMap<String, String>, first: &str) -> String {
    let mut parts = Vec::new();
    if let Some(value) = parsed.get(first) {
        parts.push(value.clone());
    }
    parts.extend(
        parsed.iter().filter(|(key, _)| *key != first).map(|(key, value)| format!("{key}={value}")),
    );
    parts.join(",")
}
