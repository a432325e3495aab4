//! Parameters of a call: merged from path, query and body by PVE's rules.

use std::collections::BTreeMap;

use indexmap::IndexMap;
use percent_encoding::percent_decode;
use serde_json::Value;

use super::error::ApiError;

/// One parameter as it was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Param {
    /// A scalar, by its text.
    One(String),
    /// A key that came more than once, or a JSON list.
    Many(Vec<String>),
    /// A JSON null.
    Undefined,
}

/// All parameters of a call.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Params(pub(crate) IndexMap<String, Param>);

impl Params {
    /// The text of a parameter, if it was given as one.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        match self.0.get(name) {
            Some(Param::One(text)) => Some(text),
            _ => None,
        }
    }

    /// The text of a parameter that the schema requires.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.get(name).unwrap_or_default()
    }

    /// A parameter as a number.
    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        self.get(name).and_then(|text| text.trim_start_matches('+').parse().ok())
    }

    /// Whether a boolean parameter is given and 1.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }

    /// All values of a parameter that may be a list.
    pub(crate) fn list(&self, name: &str) -> Vec<String> {
        match self.0.get(name) {
            Some(Param::One(text)) => split_list(text),
            Some(Param::Many(values)) => values.clone(),
            _ => Vec::new(),
        }
    }

    fn add(&mut self, name: String, value: String) {
        match self.0.get_mut(&name) {
            Some(Param::One(first)) => {
                let first = std::mem::take(first);
                self.0.insert(name, Param::Many(vec![first, value]));
            }
            Some(Param::Many(values)) => values.push(value),
            _ => {
                self.0.insert(name, Param::One(value));
            }
        }
    }
}

/// Splits a list as PVE does: commas, semicolons and white space.
pub(crate) fn split_list(text: &str) -> Vec<String> {
    text.split(|c: char| c == ',' || c == ';' || c.is_whitespace() || c == '\0')
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

fn decode(text: &str) -> String {
    let spaced = text.replace('+', " ");
    percent_decode(spaced.as_bytes()).decode_utf8_lossy().into_owned()
}

/// Decodes a form: pairs end at `&` and at `;`, and a value ends at a second raw `=`.
pub(crate) fn parse_form(text: &str) -> Params {
    let mut params = Params::default();
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let mut parts = pair.split('=');
        let name = decode(parts.next().unwrap_or_default());
        let value = decode(parts.next().unwrap_or_default());
        params.add(name, value);
    }
    params
}

fn scalar(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.clone(),
        Value::Bool(flag) => u8::from(*flag).to_string(),
        Value::Number(number) => number.to_string(),
        _ => return None,
    })
}

/// Reads a JSON body.
pub(crate) fn parse_json(text: &str) -> Result<Params, ApiError> {
    let value: Value = serde_json::from_str(text).map_err(|_| {
        ApiError::text(
            500,
            "malformed JSON string, neither tag, array, object, number, string or atom, at \
             character offset 0 at /usr/share/perl5/PVE/APIServer/AnyEvent.pm line 900.",
        )
    })?;
    let Value::Object(map) = value else { return Ok(Params::default()) };
    let mut params = Params::default();
    for (name, value) in map {
        let param = match &value {
            Value::Null => Param::Undefined,
            Value::Array(items) => Param::Many(items.iter().filter_map(scalar).collect()),
            other => match scalar(other) {
                Some(text) => Param::One(text),
                None => continue,
            },
        };
        params.0.insert(name, param);
    }
    Ok(params)
}

/// Merges what came in the path, the query and the body: the query wins over the body, and
/// whatever contradicts the path is refused.
pub(crate) fn merge(
    path: &[(String, String)],
    query: Params,
    body: Params,
) -> Result<Params, ApiError> {
    let mut merged = body;
    merged.0.extend(query.0);
    let mut errors = BTreeMap::new();
    for (name, value) in path {
        match merged.0.get(name) {
            Some(Param::One(given)) if given != value => {
                errors.insert(
                    name.clone(),
                    "duplicate parameter (already defined in URI) with conflicting values!"
                        .to_owned(),
                );
            }
            _ => {
                merged.0.insert(name.clone(), Param::One(value.clone()));
            }
        }
    }
    if errors.is_empty() { Ok(merged) } else { Err(ApiError::params(errors)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Param {
        Param::One(text.to_owned())
    }

    #[test]
    fn forms_are_read_as_pveproxy_reads_them() {
        let cases: [(&str, &[(&str, Param)]); 5] = [
            ("a=1&b=2", &[("a", one("1")), ("b", one("2"))]),
            ("tags=a;b", &[("tags", one("a")), ("b", one(""))]),
            ("smbios1=uuid=x", &[("smbios1", one("uuid"))]),
            (
                "n=1.1.1.1+9.9.9.9&d=%C3%BC%3B%3D",
                &[("n", one("1.1.1.1 9.9.9.9")), ("d", one("ü;="))],
            ),
            ("m=1&m=2", &[("m", Param::Many(vec!["1".into(), "2".into()]))]),
        ];
        for (text, wanted) in cases {
            let wanted: IndexMap<String, Param> =
                wanted.iter().map(|(k, v)| ((*k).to_owned(), v.clone())).collect();
            assert_eq!(parse_form(text).0, wanted, "{text}");
        }
    }

    #[test]
    fn the_query_wins_over_the_body_and_the_path_over_both() {
        let path = [("vmid".to_owned(), "112".to_owned())];
        let merged = merge(&path, parse_form("memory=1"), parse_form("memory=2&vmid=112")).unwrap();
        assert_eq!(merged.get("memory"), Some("1"));
        let refused = merge(&path, Params::default(), parse_form("vmid=113")).unwrap_err();
        assert_eq!(
            refused.errors["vmid"],
            "duplicate parameter (already defined in URI) with conflicting values!"
        );
    }
}
