//! Takes secrets out of a result.
//!
//! The rule: a text that is a secret becomes Ansible's own placeholder; inside a longer text, a key
//! or a number, every occurrence of a secret of at least [`SHORTEST`] characters becomes eight
//! stars, also where it is written as JSON, Rust or an address would write it, and also any line of
//! [`SHORTEST_LINE`] characters of a secret of several lines. Shorter secrets are masked only where
//! they are the whole text: taking a one-letter password out of every word would leave nothing to
//! read and would give the letter away.

use secret::MASK;
use serde_json::{Map, Value};

use super::guard::is_reserved;
use super::line::ascii;

/// Shorter secrets are not looked for inside of texts.
const SHORTEST: usize = 4;
/// Shorter lines of a secret (`}`, `-----`) say nothing.
const SHORTEST_LINE: usize = 8;
const STARS: &str = "********";

/// Knows the secrets of a run in all the forms they may be written in.
pub(crate) struct Scrubber {
    whole: Vec<String>,
    /// Longest first, so that a secret which holds another one is taken out as a whole.
    forms: Vec<String>,
}

impl Scrubber {
    pub(crate) fn new(secrets: &[String]) -> Self {
        let mut forms = Vec::new();
        for secret in secrets {
            for part in parts(secret) {
                forms.extend(written(part));
            }
        }
        forms.retain(|form| form.chars().count() >= SHORTEST);
        forms.sort_unstable_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        forms.dedup();
        Self { whole: secrets.to_vec(), forms }
    }

    /// The result without secrets. Keys that the runner sets stay.
    pub(crate) fn result(&self, result: Map<String, Value>) -> Map<String, Value> {
        if self.whole.is_empty() {
            return result;
        }
        let fixed = |key: &str| is_reserved(key) || key == "msg";
        result
            .into_iter()
            .map(|(key, value)| {
                let key = if fixed(&key) { key } else { self.text(&key) };
                (key, self.value(value))
            })
            .collect()
    }

    fn value(&self, value: Value) -> Value {
        match value {
            Value::String(text) => self.text(&text).into(),
            Value::Number(number) => {
                let text = number.to_string();
                let shown = self.text(&text);
                if shown == text { Value::Number(number) } else { shown.into() }
            }
            Value::Array(items) => items.into_iter().map(|item| self.value(item)).collect(),
            Value::Object(entries) => entries
                .into_iter()
                .map(|(key, value)| (self.text(&key), self.value(value)))
                .collect(),
            other => other,
        }
    }

    /// One text without secrets.
    pub(crate) fn text(&self, text: &str) -> String {
        if self.whole.iter().any(|secret| secret == text) {
            return MASK.to_owned();
        }
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(c) = rest.chars().next() {
            match self.forms.iter().find_map(|form| rest.strip_prefix(form.as_str())) {
                Some(after) => {
                    out.push_str(STARS);
                    rest = after;
                }
                None => {
                    out.push(c);
                    rest = &rest[c.len_utf8()..];
                }
            }
        }
        out
    }
}

/// A secret, without the blanks around it, and its lines.
fn parts(secret: &str) -> Vec<&str> {
    let mut parts = vec![secret, secret.trim()];
    if secret.trim().contains('\n') {
        let lines = secret.lines().map(str::trim);
        parts.extend(lines.filter(|line| line.chars().count() >= SHORTEST_LINE));
    }
    parts
}

/// The ways a text is written inside another.
fn written(secret: &str) -> Vec<String> {
    let json = Value::from(secret).to_string();
    let rust = format!("{secret:?}");
    let inner = |quoted: &str| quoted[1..quoted.len() - 1].to_owned();
    let upper = address(secret, |byte| format!("%{byte:02X}"));
    vec![
        secret.to_owned(),
        inner(&json),
        ascii(&inner(&json)),
        inner(&rust),
        address(secret, |byte| format!("%{byte:02x}")),
        upper.replace("%20", "+"),
        upper,
    ]
}

fn address(text: &str, escape: impl Fn(u8) -> String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { escape(byte) })
        .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn scrub(secrets: &[&str], value: Value) -> Value {
        let secrets: Vec<String> = secrets.iter().map(|&secret| secret.to_owned()).collect();
        let Value::Object(result) = value else { panic!("an object") };
        Value::Object(Scrubber::new(&secrets).result(result))
    }

    #[test]
    fn secrets_are_taken_out_wherever_they_are() {
        for (name, secrets, given, expected) in [
            ("whole", vec!["hunter2"], json!({"msg": "hunter2"}), json!({"msg": MASK})),
            ("part", vec!["hunter2"], json!({"msg": "a hunter2!"}), json!({"msg": "a ********!"})),
            ("key", vec!["hunter2"], json!({"a": {"hunter2": 1}}), json!({"a": {MASK: 1}})),
            ("top key", vec!["hunter2"], json!({"xhunter2": 1}), json!({"x********": 1})),
            (
                "our own key",
                vec!["plan"],
                json!({"plan": ["the plan"]}),
                json!({"plan": ["the ********"]}),
            ),
            ("list", vec!["hunter2"], json!({"a": [["hunter2"]]}), json!({"a": [[MASK]]})),
            ("number", vec!["12345"], json!({"a": 12345, "b": 1}), json!({"a": MASK, "b": 1})),
            (
                "longest first",
                vec!["abcd", "abcdef"],
                json!({"a": "<abcdef>"}),
                json!({"a": "<********>"}),
            ),
            (
                "address",
                vec!["p@ss w/rd"],
                json!({"a": "?p=p%40ss%20w%2Frd&"}),
                json!({"a": "?p=********&"}),
            ),
            (
                "form",
                vec!["p@ss w/rd"],
                json!({"a": "?p=p%40ss+w%2Frd&"}),
                json!({"a": "?p=********&"}),
            ),
            (
                "lower case",
                vec!["p@ss w/rd"],
                json!({"a": "p%40ss%20w%2frd&"}),
                json!({"a": "********&"}),
            ),
            (
                "json in text",
                vec!["a\"b\nc"],
                json!({"a": "{\"p\":\"a\\\"b\\nc\"}"}),
                json!({"a": "{\"p\":\"********\"}"}),
            ),
            (
                "escaped json",
                vec!["pässé"],
                json!({"a": "\"p\\u00e4ss\\u00e9\""}),
                json!({"a": "\"********\""}),
            ),
            (
                "rust",
                vec!["it's\u{1b}x"],
                json!({"a": "Str(\"it's\\u{1b}x\")"}),
                json!({"a": "Str(\"********\")"}),
            ),
            (
                "blanks around",
                vec!["hunter2\n"],
                json!({"a": "x hunter2 y"}),
                json!({"a": "x ******** y"}),
            ),
            (
                "a line of it",
                vec!["-----\nMIIEvQIBADAN\n}"],
                json!({"a": "+MIIEvQIBADAN", "b": "-----"}),
                json!({"a": "+********", "b": "-----"}),
            ),
            ("short, whole", vec!["abc"], json!({"a": "abc"}), json!({"a": MASK})),
            ("short, inside", vec!["abc"], json!({"a": "xabcx"}), json!({"a": "xabcx"})),
            ("truth stays", vec!["true"], json!({"changed": true}), json!({"changed": true})),
            ("none", vec![], json!({"a": "b"}), json!({"a": "b"})),
        ] {
            assert_eq!(scrub(&secrets, given), expected, "{name}");
        }
    }
}
