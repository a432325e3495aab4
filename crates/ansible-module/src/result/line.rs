//! Prints a result. Ansible splits output at every line separator of Unicode, also inside strings,
//! so all that is not ASCII is escaped.

use std::io::Write;

use serde_json::{Map, Value};

/// Writes one line of ASCII. Whether it could be written is all that can be told afterwards.
pub(crate) fn write_line(mut to: impl Write, result: Map<String, Value>) -> bool {
    let mut line = ascii(&Value::Object(result).to_string());
    line.push('\n');
    to.write_all(line.as_bytes()).and_then(|()| to.flush()).is_ok()
}

/// JSON with everything outside of ASCII escaped.
pub(crate) fn ascii(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    let mut units = [0; 2];
    for c in json.chars() {
        // DEL is legal in JSON and makes some terminals and log readers stumble
        if c.is_ascii() && c != '\u{7f}' {
            out.push(c);
        } else {
            for unit in c.encode_utf16(&mut units) {
                out.push_str(&format!("\\u{unit:04x}"));
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_text_is_one_line_of_ascii_and_comes_back_the_same() {
        for text in ["plain", "é☃", "😀", "a\u{2028}b\u{85}c\u{2029}", "\n\r\0\u{7f}\u{1b}", "\"\\"]
        {
            let mut out = Vec::new();
            let Value::Object(result) = json!({"msg": text, text: 1}) else { panic!("an object") };
            assert!(write_line(&mut out, result));
            let line = String::from_utf8(out).unwrap();
            assert!(line.is_ascii() && line.matches('\n').count() == 1, "{line}");
            assert!(!line.trim_end().contains(char::is_control), "{line:?}");
            let back: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(back, json!({"msg": text, text: 1}));
        }
    }

    #[test]
    fn a_closed_output_is_no_panic() {
        struct Closed;
        impl Write for Closed {
            fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
                Err(std::io::ErrorKind::BrokenPipe.into())
            }
            fn flush(&mut self) -> std::io::Result<()> {
                Ok(())
            }
        }
        assert!(!write_line(Closed, Map::new()));
    }
}
