//! The deb822 form: stanzas of fields, with comments between and within them.

use deb822_lossless::{Deb822, Paragraph};

use super::{Edit, Entry};

/// Stanzas and the runs of blank lines between them, each a unit.
pub(super) fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let (mut start, mut end, mut blank_run) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let blank = line.trim().is_empty();
        if blank_run.is_some_and(|run| run != blank) {
            units.push(&text[start..end]);
            start = end;
        }
        blank_run = Some(blank);
        end += line.len();
    }
    if start < end {
        units.push(&text[start..end]);
    }
    units
}

/// Whether apt counts the unit: comments alone are none.
pub(super) fn is_stanza(unit: &str) -> bool {
    unit.lines().any(|line| !line.trim().is_empty() && !line.starts_with('#'))
}

pub(super) fn entry(unit: &str, number: usize) -> Option<Entry> {
    let fields = paragraph(unit)?.1;
    let words = |name: &str| -> Vec<String> {
        field(&fields, name)
            .map(|(_, value)| value.split_whitespace().map(ToOwned::to_owned).collect())
            .unwrap_or_default()
    };
    let enabled = words("Enabled");
    if enabled.first().is_some_and(|word| off(word)) {
        return None;
    }
    let (types, uris, suites) = (words("Types"), words("URIs"), words("Suites"));
    if types.is_empty() || uris.is_empty() {
        return None;
    }
    let snapshot = words("Snapshot").into_iter().next();
    let components = words("Components");
    Some(Entry { number, types, uris, suites, components, snapshot })
}

pub(super) fn edit(unit: &str, edit: &Edit) -> String {
    // a file with line ends of another system keeps them
    let lines = unit.matches('\n').count();
    if lines > 0 && unit.matches("\r\n").count() == lines {
        return self::edit(&unit.replace("\r\n", "\n"), edit).replace('\n', "\r\n");
    }
    // a field added after a last line without its newline would be joined to that line
    let newline = if unit.ends_with('\n') { "" } else { "\n" };
    let text = started(&format!("{unit}{newline}"));
    let Some((document, mut fields)) = paragraph(&text) else {
        return unit.to_owned();
    };
    match edit {
        Edit::Rewrite(uris) => {
            let mut distinct: Vec<&str> = Vec::new();
            for uri in uris {
                if !distinct.contains(&uri.as_str()) {
                    distinct.push(uri);
                }
            }
            set(&mut fields, "URIs", &distinct.join(" "));
            if let Some((name, _)) = field(&fields, "Snapshot") {
                fields.remove(&name);
            }
            set(&mut fields, "Check-Valid-Until", "no");
        }
        Edit::Native(id) => {
            set(&mut fields, "Snapshot", id);
            set(&mut fields, "Check-Valid-Until", "no");
        }
    }
    document.to_string()
}

/// The stanza with a word in place of each value that is to be set and is empty: the library would
/// leave its line as it is and write the new value below it, without the blank that continues a field.
fn started(unit: &str) -> String {
    let mut text = String::new();
    let mut lines = unit.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let goes_on = lines.peek().is_some_and(|next| next.starts_with([' ', '\t', '#']));
        let empty = line.split_once(':').filter(|(_, value)| !goes_on && value.trim().is_empty());
        let is_set = |name: &str| {
            ["URIs", "Snapshot", "Check-Valid-Until"]
                .iter()
                .any(|set| name.eq_ignore_ascii_case(set))
        };
        match empty {
            Some((name, _)) if is_set(name) => text.push_str(&format!("{name}: x\n")),
            _ => text.push_str(line),
        }
    }
    text
}

/// apt's words for no.
fn off(word: &str) -> bool {
    ["no", "false", "without", "off", "disable", "0"].iter().any(|no| word.eq_ignore_ascii_case(no))
}

fn paragraph(unit: &str) -> Option<(Deb822, Paragraph)> {
    // strict on purpose: a stanza that does not parse is left to apt, whose words are the better
    let document: Deb822 = unit.parse().ok()?;
    let fields = document.paragraphs().next()?;
    Some((document, fields))
}

/// A field by its name in any case, with the name as written.
fn field(fields: &Paragraph, name: &str) -> Option<(String, String)> {
    fields.items().find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(key, value)| {
        let value: Vec<&str> = value.lines().filter(|line| !line.starts_with('#')).collect();
        (key, value.join("\n"))
    })
}

fn set(fields: &mut Paragraph, name: &str, value: &str) {
    let written = field(fields, name).map_or_else(|| name.to_owned(), |(key, _)| key);
    fields.set(&written, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "# upstream\nTypes: deb deb-src\n# mirror nearby\nURIs: \
        http://deb.debian.org/debian\nSuites: trixie trixie-updates\nComponents: main\n\
        Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";

    #[test]
    fn units_joined_are_the_text() {
        for (text, count) in
            [("", 0), ("A: 1\n\nB: 2\n", 3), ("\n\n# c\nA: 1\n \n\nB: 2", 4), ("# only\n", 1)]
        {
            let units = units(text);
            assert_eq!(units.concat(), text);
            assert_eq!(units.len(), count, "{text:?}");
        }
    }

    #[test]
    fn a_stanza_is_rewritten_and_keeps_its_comments_and_order() {
        let edited = edit(DEBIAN, &Edit::Rewrite(vec!["http://s/1".into(), "http://s/1".into()]));
        let wanted = DEBIAN.replace("http://deb.debian.org/debian", "http://s/1");
        assert_eq!(edited, wanted + "Check-Valid-Until: no\n");
    }

    #[test]
    fn other_shapes_of_stanzas() {
        for (name, unit, wanted) in [
            (
                "URIs over several lines",
                "Types: deb\nURIs:\n http://a/debian\n http://b/debian\nSuites: x\n",
                "Types: deb\nURIs:\n http://s/1\nSuites: x\nCheck-Valid-Until: no\n",
            ),
            (
                "names in another case, a snapshot of apt's own and a check asked for",
                "types: deb\nuris: http://a\nSuites: x\nSNAPSHOT: 20250101T000000Z\n\
                 check-valid-until: yes\n",
                "types: deb\nuris: http://s/1\nSuites: x\ncheck-valid-until: no\n",
            ),
            (
                "line ends of another system",
                "Types: deb\r\nURIs: http://a\r\nSuites: x\r\n",
                "Types: deb\r\nURIs: http://s/1\r\nSuites: x\r\nCheck-Valid-Until: no\r\n",
            ),
            (
                "no newline at the end",
                "Types: deb\nURIs: http://a\nSuites: x",
                "Types: deb\nURIs: http://s/1\nSuites: x\nCheck-Valid-Until: no\n",
            ),
            (
                "an embedded key",
                "Types: deb\nURIs: http://a\nSuites: x\nSigned-By:\n -----BEGIN\n .\n mQ==\n \
                 -----END\n",
                "Types: deb\nURIs: http://s/1\nSuites: x\nSigned-By:\n -----BEGIN\n .\n mQ==\n \
                 -----END\nCheck-Valid-Until: no\n",
            ),
        ] {
            assert_eq!(edit(unit, &Edit::Rewrite(vec!["http://s/1".into()])), wanted, "{name}");
        }
    }

    #[test]
    fn entries_are_read() {
        let read = entry(DEBIAN, 2).unwrap();
        assert_eq!((read.number, read.types.len()), (2, 2));
        assert_eq!(read.uris, ["http://deb.debian.org/debian"]);
        assert_eq!(read.suites, ["trixie", "trixie-updates"]);
        assert_eq!(entry(&format!("Enabled: no\n{DEBIAN}"), 1), None);
        assert!(entry(&format!("Enabled: yes\n{DEBIAN}"), 1).is_some());
        assert_eq!(entry("# only a comment\n", 1), None);
    }

    #[test]
    fn native_sets_the_field() {
        let edited = edit(DEBIAN, &Edit::Native("20250101T000000Z".into()));
        assert_eq!(edited, format!("{DEBIAN}Snapshot: 20250101T000000Z\nCheck-Valid-Until: no\n"));
    }

    #[test]
    fn a_value_that_is_empty_or_stands_on_lines_of_its_own_is_replaced() {
        let id = "20250101T000000Z";
        for (unit, edit, wanted) in [
            (
                "Types: deb\nURIs: http://a\nSnapshot:\nSuites: x\n",
                Edit::Native(id.into()),
                "Types: deb\nURIs: http://a\nSnapshot: 20250101T000000Z\nSuites: x\nCheck-Valid-Until: no\n",
            ),
            (
                "Types: deb\nURIs:\n http://a\n http://b\nSuites: x\n",
                Edit::Rewrite(vec!["http://c".into()]),
                "Types: deb\nURIs:\n http://c\nSuites: x\nCheck-Valid-Until: no\n",
            ),
            (
                "Types: deb\nURIs: http://a\n http://b\nSuites: x\n",
                Edit::Rewrite(vec!["http://c".into()]),
                "Types: deb\nURIs: http://c\nSuites: x\nCheck-Valid-Until: no\n",
            ),
            (
                "Types: deb\nURIs: http://a\nSuites: x\nCheck-Valid-Until: \n",
                Edit::Rewrite(vec!["http://c".into()]),
                "Types: deb\nURIs: http://c\nSuites: x\nCheck-Valid-Until: no\n",
            ),
        ] {
            assert_eq!(super::edit(unit, &edit), wanted, "{unit:?}");
        }
    }
}
