//! What Ansible reads: strings of the cluster marked, and nothing but ASCII.

use serde_json::{Value, json};

/// A string that came from the cluster or a guest. Marked like this Ansible never takes it for a
/// template; without the mark every `{{ }}` in a guest's name runs on the control node.
pub(crate) fn foreign(text: &str) -> Value {
    json!({"__ansible_unsafe": text})
}

/// JSON in ASCII: line separators and their like then depend on no reader.
pub(crate) fn ascii(value: &Value) -> String {
    let mut line = String::new();
    // outside of strings JSON is ASCII, so that all that is escaped here is inside one
    for c in value.to_string().chars() {
        if c.is_ascii() && c != '\x7f' {
            line.push(c);
        } else {
            let mut units = [0; 2];
            for unit in c.encode_utf16(&mut units) {
                line.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    line
}

/// A text for a terminal: what would move the cursor, colour the screen or turn the order of what
/// follows is shown escaped, and so is what is not seen at all.
pub(crate) fn printable(text: &str) -> String {
    let unseen = |c: char| {
        c.is_control()
            || matches!(c, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars()
        .map(|c| if unseen(c) { c.escape_default().to_string() } else { c.to_string() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_is_ascii_and_means_the_same() {
        let value = json!({"a": "ü\u{2028}\u{1f600}\u{7f}\"\\\n{{ x }}"});
        let line = ascii(&value);
        assert!(line.is_ascii() && !line.contains('\n'), "{line}");
        assert_eq!(serde_json::from_str::<Value>(&line).unwrap(), value);
    }

    #[test]
    fn a_terminal_is_left_alone() {
        for (text, shown) in [
            ("a\u{1b}[31mb\nc", "a\\u{1b}[31mb\\nc"),
            ("web\u{202e}exe", "web\\u{202e}exe"),
            ("a\u{2066}b\u{200b}c\u{feff}", "a\\u{2066}b\\u{200b}c\\u{feff}"),
            ("bücher.例え", "bücher.例え"),
        ] {
            assert_eq!(printable(text), shown);
        }
    }
}
