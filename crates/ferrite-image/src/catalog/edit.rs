//! Changes to the lines of a catalog file.

use images::Entry;

use super::VARIABLE;

/// The file with other values in an entry; nothing if its lines are not those of a plain mapping.
pub(super) fn changed(text: &str, name: &str, before: &Entry, after: &Entry) -> Option<String> {
    let mut all: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let (from, to) = block(&all, 0, all.len(), VARIABLE)?;
    let (from, to) = block(&all, from, to, name)?;
    let inner = all[from..to].iter().find(|line| !is_empty(line)).map(|line| indent(line))?;
    let (old, new) = (values(before), values(after));
    for (key, value) in &new {
        if old.iter().any(|known| known == &(*key, value.clone())) {
            continue;
        }
        let at =
            (from..to).find(|at| indent(&all[*at]) == inner && key_of(&all[*at]) == Some(key))?;
        all[at] = replaced(&all[at], key, value)?;
    }
    Some(all.concat())
}

/// The file with one more entry, after the others.
pub(super) fn added(text: &str, name: &str, entry: &Entry) -> Option<String> {
    let mut all: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if let Some(last) = all.last_mut().filter(|line| !line.ends_with('\n')) {
        last.push('\n');
    }
    if all.iter().all(|line| is_empty(line)) && !text.contains("---") {
        all.insert(0, "---\n".to_owned());
    }
    let Some((from, to)) = block(&all, 0, all.len(), VARIABLE) else {
        if all.iter().any(|line| key_of(line) == Some(VARIABLE)) {
            return None;
        }
        all.push(format!("{VARIABLE}:\n"));
        all.extend(lines(name, entry, 2).into_iter().map(|line| line + "\n"));
        return Some(all.concat());
    };
    let depth = all[from..to].iter().find(|line| !is_empty(line)).map_or(2, |line| indent(line));
    // a comment that is further out is of what follows
    let ours = |line: &String| !line.trim().is_empty() && indent(line) >= depth;
    let end = (from..to).rev().find(|at| ours(&all[*at])).map_or(from, |at| at + 1);
    let new = lines(name, entry, depth).into_iter().map(|line| line + "\n");
    all.splice(end..end, new);
    Some(all.concat())
}

/// An entry as lines.
pub(super) fn lines(name: &str, entry: &Entry, depth: usize) -> Vec<String> {
    let mut lines = vec![format!("{:depth$}{name}:", "")];
    let inner = depth + 2;
    for (key, value) in values(entry) {
        match value {
            Written::Text(text) => lines.push(format!("{:inner$}{key}: {}", "", plain(&text))),
            Written::List(items) => {
                lines.push(format!("{:inner$}{key}:", ""));
                let deeper = inner + 2;
                lines.extend(items.iter().map(|item| format!("{:deeper$}- {item}", "")));
            }
        }
    }
    lines
}

/// A value as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Written {
    Text(String),
    List(Vec<String>),
}

/// The keys of an entry that are not as they are by default.
fn values(entry: &Entry) -> Vec<(&'static str, Written)> {
    let text = |text: &str| Written::Text(text.to_owned());
    let mut values =
        vec![("publisher", text(entry.publisher.word())), ("release", text(&entry.release))];
    if let Some(serial) = &entry.serial {
        values.push(("serial", text(serial)));
    }
    if entry.arch != "amd64" {
        values.push(("arch", text(&entry.arch)));
    }
    if let Some(variant) = entry.variant {
        values.push(("variant", text(variant.word())));
    }
    if let Some(schematic) = &entry.schematic {
        values.push(("schematic", text(schematic)));
    }
    if !entry.extensions.is_empty() {
        values.push(("extensions", Written::List(entry.extensions.clone())));
    }
    if let Some(mirror) = &entry.mirror {
        values.push(("mirror", text(mirror)));
    }
    values.push(("checksum", text(&entry.checksum)));
    values
}

/// Text as YAML; a date is a number without quotation marks.
fn plain(text: &str) -> String {
    let number = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-_".contains(&byte));
    if number && !text.contains('-') { format!("\"{text}\"") } else { text.to_owned() }
}

/// The lines below a key, from the first to the one after the last.
fn block(all: &[String], from: usize, to: usize, key: &str) -> Option<(usize, usize)> {
    let depth = all[from..to].iter().find(|line| !is_empty(line)).map(|line| indent(line))?;
    let at = (from..to).find(|at| {
        let line = &all[*at];
        indent(line) == depth && key_of(line) == Some(key) && value_of(line, key).is_empty()
    })?;
    let inner = at + 1;
    let end =
        (inner..to).find(|at| !is_empty(&all[*at]) && indent(&all[*at]) <= depth).unwrap_or(to);
    Some((inner, end))
}

/// A line with another value, and all else as it was.
fn replaced(line: &str, key: &str, value: &Written) -> Option<String> {
    let Written::Text(value) = value else { return None };
    let old = value_of(line, key);
    let after = line.find(key)? + key.len();
    let at = after + line[after..].find(old).filter(|_| !old.is_empty())?;
    let quoted = ['"', '\''].into_iter().find(|mark| old.starts_with(*mark));
    let new = match quoted {
        Some(mark) if old.len() > 1 && old.ends_with(mark) => format!("{mark}{value}{mark}"),
        Some(_) => return None,
        None => plain(value),
    };
    Some(format!("{}{new}{}", &line[..at], &line[at + old.len()..]))
}

/// The key of a line.
fn key_of(line: &str) -> Option<&str> {
    let text = line.trim();
    let (key, rest) = text.split_once(':')?;
    let plain = !text.starts_with(['#', '-']) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    plain.then(|| key.trim().trim_matches(['"', '\'']))
}

/// The value of a line, without a comment.
fn value_of<'a>(line: &'a str, key: &str) -> &'a str {
    let after = line.find(key).map_or(0, |at| at + key.len());
    let rest = line[after..].split_once(':').map_or("", |(_, rest)| rest);
    let end =
        rest.match_indices('#').map(|(at, _)| at).find(|at| rest[..*at].ends_with([' ', '\t']));
    rest[..end.unwrap_or(rest.len())].trim()
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start_matches(' ').len()
}

/// Whether a line has only a comment, the beginning of a document, or nothing.
fn is_empty(line: &str) -> bool {
    let text = line.trim();
    text.is_empty() || text.starts_with('#') || text == "---"
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::Catalog;
    use super::*;

    fn entry(serial: &str, sum: &str) -> Entry {
        let text = format!(
            "{{publisher: ubuntu, release: noble, serial: \"{serial}\", checksum: \"sha256:{}\"}}",
            sum.repeat(32)
        );
        serde_yaml_ng::from_str(&text).unwrap()
    }

    fn with(text: &str, name: &str, entry: &Entry) -> Result<String, String> {
        let catalog = Catalog::of(Path::new("images.yml"), text.to_owned()).unwrap();
        let changed = catalog.with(name, entry).map_err(|error| format!("{error:#}"))?;
        Ok(changed.text().to_owned())
    }

    #[test]
    fn only_values_change() {
        let (old, new) = ("0a".repeat(32), "0b".repeat(32));
        for (before, serial) in [
            ("serial: 20251113\n", "serial: \"20260101\"\n"),
            ("serial: '20251113'\n", "serial: '20260101'\n"),
            (
                "serial:   \"20251113\"   # tested by us\n",
                "serial:   \"20260101\"   # tested by us\n",
            ),
            (
                "\"serial\" : 20251113 # 20251113 works\n",
                "\"serial\" : \"20260101\" # 20251113 works\n",
            ),
        ] {
            let file = |serial: &str, sum: &str| {
                format!(
                    "# ours\n---\nother: {{noble: 1}}\nimages:\n\n  # the first\n  noble:\n    \
                     # what was tried\n    publisher: ubuntu\n    {serial}    release: noble\n\n    \
                     checksum: sha256:{sum}\n  trixie:\n    publisher: debian\n    release: trixie\n    \
                     serial: 20251117-2299\n    checksum: sha256:{old}\n\nmore: []\n"
                )
            };
            let changed = with(&file(before, &old), "noble", &entry("20260101", "0b")).unwrap();
            assert_eq!(changed, file(serial, &new));
        }
    }

    #[test]
    fn entries_are_added_after_the_others() {
        let lines = |depth: usize| {
            let (outer, inner) = (" ".repeat(depth), " ".repeat(depth + 2));
            format!(
                "{outer}noble:\n{inner}publisher: ubuntu\n{inner}release: noble\n\
                 {inner}serial: \"20260101\"\n{inner}checksum: sha256:{}\n",
                "0b".repeat(32)
            )
        };
        let other = |depth: usize| lines(depth).replace("noble:", "other:");
        for (before, after) in [
            (String::new(), format!("---\nimages:\n{}", lines(2))),
            ("---\n# ours\n".to_owned(), format!("---\n# ours\nimages:\n{}", lines(2))),
            ("---\nimages:\n".to_owned(), format!("---\nimages:\n{}", lines(2))),
            ("a: 1".to_owned(), format!("a: 1\nimages:\n{}", lines(2))),
            (
                format!("images:\n{}    # tested\n\n# of b\nb: 2\n", other(4)),
                format!("images:\n{}    # tested\n{}\n# of b\nb: 2\n", other(4), lines(4)),
            ),
        ] {
            assert_eq!(with(&before, "noble", &entry("20260101", "0b")).unwrap(), after);
        }
    }

    #[test]
    fn what_is_written_otherwise_is_shown_and_left_alone() {
        let sum = "0a".repeat(32);
        let flow = format!(
            "images: {{noble: {{publisher: ubuntu, release: noble, serial: 20251113, checksum: 'sha256:{sum}'}}}}\n"
        );
        let anchored = format!(
            "images:\n  noble: &noble\n    publisher: ubuntu\n    release: noble\n    \
             serial: 20251113\n    checksum: sha256:{sum}\n  same: *noble\n"
        );
        let folded = format!(
            "images:\n  noble:\n    publisher: ubuntu\n    release: noble\n    serial: 20251113\n    \
             checksum: >-\n      sha256:{sum}\n"
        );
        for (before, name) in
            [(flow.as_str(), "noble"), (&flow, "new"), (&anchored, "noble"), (&folded, "noble")]
        {
            let error = with(before, name, &entry("20260101", "0b")).unwrap_err();
            assert!(
                error.starts_with("images.yml is written in a way that is not changed"),
                "{error}"
            );
            assert!(error.contains("serial: \"20260101\"\n    checksum: sha256:0b0b"), "{error}");
        }
    }
}
