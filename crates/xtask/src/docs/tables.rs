//! Tables in Markdown, between markers in pages that are otherwise written by hand.

use serde_json::Value;

use crate::workspace::{COLLECTION, Module};

/// The page with the table in place of what stood between the markers; nothing if they are absent.
pub(super) fn between(page: &str, what: &str, table: &str) -> Option<String> {
    let (begin, end) = markers(what);
    let (before, rest) = page.split_once(&begin)?;
    let (_, after) = rest.split_once(&end)?;
    Some(format!("{before}{begin}\n{table}{end}{after}"))
}

/// The markers around a table.
pub(super) fn markers(what: &str) -> (String, String) {
    (format!("<!-- {what}: written by `cargo xtask docs` -->"), format!("<!-- end of {what} -->"))
}

/// The modules: name, what they are for, where they run.
pub(super) fn modules(modules: &[Module]) -> String {
    let mut table = "| module | what it is for | runs on |\n| --- | --- | --- |\n".to_owned();
    for module in modules {
        let short = &module.description["DOCUMENTATION"]["short_description"];
        let place = match module.description["place"].as_str() {
            Some("control_node") => "control node",
            _ => "managed node",
        };
        let name = &module.name;
        table.push_str(&format!("| `{COLLECTION}.{name}` | {} | {place} |\n", prose(short)));
    }
    table
}

/// A text, or list of texts, for one cell.
pub(super) fn prose(value: &Value) -> String {
    let text = match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(" "),
        _ => String::new(),
    };
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    code(&text).replace('|', "\\|")
}

/// Ansible's markup for code in Markdown's.
fn code(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = ["C(", "O(", "V("].iter().filter_map(|mark| rest.find(mark)).min() {
        let starts_word = !rest[..at].ends_with(|c: char| c.is_alphanumeric());
        match rest[at + 2..].split_once(')').filter(|_| starts_word) {
            Some((inner, after)) => {
                out.push_str(&format!("{}`{inner}`", &rest[..at]));
                rest = after;
            }
            None => {
                out.push_str(&rest[..at + 2]);
                rest = &rest[at + 2..];
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_replaces_what_stood_between_its_markers() {
        let (begin, end) = markers("modules");
        let page = format!("a\n{begin}\nold\n{end}\nb\n");
        assert_eq!(
            between(&page, "modules", "new\n"),
            Some(format!("a\n{begin}\nnew\n{end}\nb\n"))
        );
        assert_eq!(between("no markers", "modules", "new\n"), None);
        assert_eq!(between(&begin, "modules", "new\n"), None);
    }

    #[test]
    fn markup_becomes_markdown() {
        for (text, expected) in [
            ("Set C(a) or O(b=c).", "Set `a` or `b=c`."),
            ("a | b", "a \\| b"),
            ("ABC(d)", "ABC(d)"),
            ("C(open", "C(open"),
            ("two\n  lines", "two lines"),
        ] {
            assert_eq!(prose(&text.into()), expected);
        }
    }
}
