//! Texts that stand for lists and dictionaries: JSON, Python's way of printing them (what a template
//! gives when it is joined with other text), and `key=value` lists.

use serde_json::{Map, Value};

/// Deeper nesting is not read; it could only be meant to exhaust the stack.
const DEPTH: usize = 64;

/// Reads JSON or a Python literal.
pub(crate) fn parse(text: &str) -> Option<Value> {
    if let Ok(value) = serde_json::from_str(text) {
        return Some(value);
    }
    let mut reader = Reader { rest: text };
    let value = reader.value(DEPTH)?;
    reader.skip();
    reader.rest.is_empty().then_some(value)
}

/// Reads `a=1, b="2 3"`: separated by commas or spaces, with quotes and backslashes.
pub(crate) fn key_values(text: &str) -> Option<Map<String, Value>> {
    let mut fields = Vec::new();
    let mut field = String::new();
    let mut quote = None;
    let mut escaped = false;
    for c in text.trim().chars() {
        match (escaped, quote, c) {
            (true, ..) => {
                field.push(c);
                escaped = false;
            }
            (_, _, '\\') => escaped = true,
            (_, None, '"' | '\'') => quote = Some(c),
            (_, Some(open), c) if open == c => quote = None,
            (_, None, ',' | ' ' | '\n' | '\t') => fields.push(std::mem::take(&mut field)),
            _ => field.push(c),
        }
    }
    fields.push(field);
    fields.retain(|field| !field.is_empty());
    fields
        .iter()
        .map(|field| field.split_once('=').map(|(key, value)| (key.to_owned(), value.into())))
        .collect()
}

struct Reader<'a> {
    rest: &'a str,
}

impl Reader<'_> {
    fn skip(&mut self) {
        self.rest = self.rest.trim_start();
    }

    fn take(&mut self, token: &str) -> bool {
        self.skip();
        match self.rest.strip_prefix(token) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn value(&mut self, depth: usize) -> Option<Value> {
        let depth = depth.checked_sub(1)?;
        self.skip();
        match self.rest.chars().next()? {
            '{' => self.dict(depth),
            '[' => self.list(depth, "[", "]"),
            '(' => self.list(depth, "(", ")"),
            '"' | '\'' => self.string().map(Value::String),
            _ => self.word(),
        }
    }

    fn dict(&mut self, depth: usize) -> Option<Value> {
        let mut entries = Map::new();
        self.take("{");
        while !self.take("}") {
            let key = match self.value(depth)? {
                Value::String(key) => key,
                Value::Number(key) => key.to_string(),
                _ => return None,
            };
            if !self.take(":") {
                return None;
            }
            entries.insert(key, self.value(depth)?);
            if !self.take(",") && !self.rest.starts_with('}') {
                return None;
            }
        }
        Some(Value::Object(entries))
    }

    fn list(&mut self, depth: usize, open: &str, close: &str) -> Option<Value> {
        let mut items = Vec::new();
        self.take(open);
        while !self.take(close) {
            items.push(self.value(depth)?);
            if !self.take(",") && !self.rest.starts_with(close) {
                return None;
            }
        }
        Some(Value::Array(items))
    }

    fn string(&mut self) -> Option<String> {
        let mut chars = self.rest.chars();
        let quote = chars.next()?;
        let mut text = String::new();
        loop {
            match chars.next()? {
                c if c == quote => break,
                '\\' => match chars.next()? {
                    'n' => text.push('\n'),
                    't' => text.push('\t'),
                    'r' => text.push('\r'),
                    'x' => text.push(code(&mut chars, 2)?),
                    'u' => text.push(code(&mut chars, 4)?),
                    'U' => text.push(code(&mut chars, 8)?),
                    c @ ('\\' | '\'' | '"') => text.push(c),
                    c => text.extend(['\\', c]),
                },
                c => text.push(c),
            }
        }
        self.rest = chars.as_str();
        Some(text)
    }

    fn word(&mut self) -> Option<Value> {
        let end = self
            .rest
            .find(|c: char| !c.is_ascii_alphanumeric() && !matches!(c, '+' | '-' | '.' | '_'))
            .unwrap_or(self.rest.len());
        let (word, rest) = self.rest.split_at(end);
        let value = match word {
            "True" | "true" => Value::Bool(true),
            "False" | "false" => Value::Bool(false),
            "None" | "null" => Value::Null,
            number => serde_json::from_str(number).ok().filter(Value::is_number)?,
        };
        self.rest = rest;
        Some(value)
    }
}

fn code(chars: &mut std::str::Chars<'_>, digits: usize) -> Option<char> {
    let mut number = 0;
    for _ in 0..digits {
        number = number * 16 + chars.next()?.to_digit(16)?;
    }
    char::from_u32(number)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn json_and_python_are_both_read() {
        for (text, value) in [
            (r#"{"a": [1, true, null]}"#, Some(json!({"a": [1, true, null]}))),
            ("{'a': [1, True, None], }", Some(json!({"a": [1, true, null]}))),
            ("{'a': {'b': 'it\\'s'}, 2: -1.5}", Some(json!({"a": {"b": "it's"}, "2": -1.5}))),
            ("('x', \"y\")", Some(json!(["x", "y"]))),
            ("['\\x41\\u00e9\\U0001F600\\n\\q']", Some(json!(["Aé😀\n\\q"]))),
            ("[]", Some(json!([]))),
            ("{'a': 1", None),
            ("{'a' 1}", None),
            ("{['a']: 1}", None),
            ("[1 2]", None),
            ("['a'] x", None),
            ("{'a': __import__('os')}", None),
            ("['\\ud800']", None),
            ("", None),
        ] {
            assert_eq!(parse(text), value, "{text}");
        }
        assert_eq!(parse(&"[".repeat(100_000)), None);
        assert_eq!(parse(&"{'a':".repeat(100_000)), None);
    }

    #[test]
    fn key_values_keep_quoted_separators() {
        for (text, value) in [
            ("a=1", Some(json!({"a": "1"}))),
            ("a=1, b=2 c=3", Some(json!({"a": "1", "b": "2", "c": "3"}))),
            ("a='x, y' b=\"z=\\\"1\\\"\"", Some(json!({"a": "x, y", "b": "z=\"1\""}))),
            ("a=x=y", Some(json!({"a": "x=y"}))),
            ("a=", Some(json!({"a": ""}))),
            ("a=1, b", None),
        ] {
            assert_eq!(key_values(text).map(Value::Object), value, "{text}");
        }
    }
}
