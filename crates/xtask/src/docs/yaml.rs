//! Writes YAML that a person likes to read in a review: long sentences folded, texts of several
//! lines as blocks, quotes only where they are needed. What is written is read back and compared,
//! so a rule missing here is an error and not a wrong page.

use anyhow::{Result, ensure};
use serde_json::{Map, Value};

const WIDTH: usize = 100;

/// A mapping as a block.
pub(super) fn block(value: &Value) -> Result<String> {
    let mut out = String::new();
    match value {
        Value::Object(entries) => mapping(entries, 0, &mut out),
        _ => out.push_str(&scalar(value)),
    }
    let back: Value = serde_yaml_ng::from_str(&out)?;
    ensure!(back == *value, "this does not read back as it was:\n{out}");
    Ok(out)
}

fn mapping(entries: &Map<String, Value>, indent: usize, out: &mut String) {
    for (key, value) in entries {
        out.push_str(&format!("{:indent$}{}:", "", text(key)));
        node(value, indent, out);
    }
}

/// What follows `key:` or `-`.
fn node(value: &Value, indent: usize, out: &mut String) {
    match value {
        Value::Object(entries) if !entries.is_empty() => {
            out.push('\n');
            mapping(entries, indent + 2, out);
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            for item in items {
                sequence_item(item, indent + 2, out);
            }
        }
        Value::String(string) if string.contains('\n') && is_literal(string) => {
            out.push_str(" |\n");
            for line in string.lines() {
                let line = if line.is_empty() {
                    String::new()
                } else {
                    format!("{:1$}{line}", "", indent + 2)
                };
                out.push_str(&line);
                out.push('\n');
            }
        }
        Value::String(string) if indent + string.len() + 8 > WIDTH && is_foldable(string) => {
            out.push_str(" >-\n");
            fold(string, indent + 2, out);
        }
        other => out.push_str(&format!(" {}\n", scalar(other))),
    }
}

fn sequence_item(item: &Value, indent: usize, out: &mut String) {
    out.push_str(&format!("{:indent$}-", ""));
    match item {
        Value::Object(entries) if !entries.is_empty() => {
            let mut inner = String::new();
            mapping(entries, indent + 2, &mut inner);
            out.push(' ');
            out.push_str(inner.trim_start());
        }
        other => node(other, indent, out),
    }
}

fn fold(string: &str, indent: usize, out: &mut String) {
    let mut column = 0;
    for word in string.split(' ') {
        if column > 0 && column + 1 + word.len() > WIDTH {
            out.push('\n');
            column = 0;
        }
        if column == 0 {
            out.push_str(&format!("{:indent$}", ""));
            column = indent;
        } else {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += word.len();
    }
    out.push('\n');
}

/// Whether a literal block gives the text back: it ends in one newline and no line begins with or
/// consists of blanks where that would matter.
fn is_literal(string: &str) -> bool {
    string.ends_with('\n')
        && !string.ends_with("\n\n")
        && !string.starts_with([' ', '\n'])
        && !string.lines().any(|line| line.ends_with(' ') || line.contains(['\t', '\r']))
        && string.chars().all(|c| c == '\n' || !c.is_control())
}

fn is_foldable(string: &str) -> bool {
    !string.contains("  ")
        && !string.starts_with(' ')
        && !string.ends_with(' ')
        && string.chars().all(|c| !c.is_control())
}

fn scalar(value: &Value) -> String {
    match value {
        Value::String(string) => text(string),
        // a JSON scalar, and an empty list or mapping, is the same in YAML
        other => other.to_string(),
    }
}

fn text(string: &str) -> String {
    let first = string.chars().next().unwrap_or(' ');
    let plain = (first.is_ascii_alphabetic() || first == '_')
        && string.chars().all(|c| !c.is_control() && c != '\u{feff}')
        && !string.contains(": ")
        && !string.contains(" #")
        && !string.ends_with([' ', ':'])
        && !is_word_of_yaml(string);
    if plain {
        string.to_owned()
    } else if string.chars().any(char::is_control) {
        // JSON's quoting is YAML's, too, but leaves some control characters as they are
        let json = Value::from(string).to_string();
        json.chars()
            .map(
                |c| if c.is_control() { format!("\\u{:04x}", u32::from(c)) } else { c.to_string() },
            )
            .collect()
    } else {
        format!("'{}'", string.replace('\'', "''"))
    }
}

/// Words that some reader of YAML takes for something else than text.
fn is_word_of_yaml(string: &str) -> bool {
    const WORDS: [&str; 10] = ["true", "false", "yes", "no", "on", "off", "y", "n", "null", "nan"];
    WORDS.contains(&string.to_ascii_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_page_is_readable() {
        let long = "word ".repeat(30) + "end";
        let value = json!({
            "short": "A sentence.", "number": 5, "yes": "no", "empty": [], "none": {},
            "list": ["a: b", {"k": ["x"], "l": 1}, ""],
            "long": long, "lines": "- one\n  two\n\n- three\n", "quote": "it's", "colon": "a:b",
        });
        let folded = format!("{}word\n  {}end", "word ".repeat(18), "word ".repeat(11));
        let expected = format!(
            "short: A sentence.\nnumber: 5\n'yes': 'no'\nempty: []\nnone: {{}}\nlist:\n  - 'a: b'\n  - k:\n      - x\n    l: 1\n  - ''\nlong: >-\n  {folded}\nlines: |\n  - one\n    two\n\n  - three\nquote: it's\ncolon: a:b\n"
        );
        assert_eq!(block(&value).unwrap(), expected);
    }

    #[test]
    fn every_text_comes_back() {
        for string in [
            "",
            " ",
            "a ",
            " a",
            "# a",
            "a # b",
            "- a",
            "? a",
            "&a",
            "*a",
            "!a",
            "%a",
            "@a",
            "`a`",
            "{a}",
            "[a]",
            "a\n",
            "\n",
            "a\nb",
            "a\n\n",
            "a  \nb\n",
            "\ta\n",
            "1",
            "1.5",
            "0x1f",
            "1e3",
            "null",
            "~",
            "True",
            ".inf",
            "2001-01-01",
            "=",
            "<<",
            "é\u{2028}x",
            "\u{7f}",
            "a'b\"c",
            "key: value",
            "trailing:",
            "\r\n",
            "12:30:45",
        ] {
            for value in [json!({"k": string}), json!({"l": [string, {"k": string}]})] {
                block(&value).unwrap();
            }
        }
        let long =
            json!({"k": "x ".repeat(100), "l": "  two  blanks ".repeat(20), "m": "y".repeat(200)});
        block(&long).unwrap();
    }
}
