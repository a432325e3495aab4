//! The deb822 form: stanzas of fields, with comments between and within them, as apt reads it.
//!
//! Only an empty line ends a stanza: one of blanks goes on with the field before it. A comment is
//! a line that begins with its mark, and is as if it were not there. Of a field that is given
//! twice the last one counts.

use super::{Architectures, Edit, Entry};

/// A field, and the lines of its unit that it stands on.
struct Field<'a> {
    name: &'a str,
    /// What follows the colon, without comments.
    value: String,
    first: usize,
    /// The line after its last one.
    end: usize,
}

/// Stanzas and the runs of empty lines between them, each a unit.
pub(super) fn units(text: &str) -> Vec<&str> {
    let mut units = Vec::new();
    let (mut start, mut end, mut empty_run) = (0, 0, None);
    for line in text.split_inclusive('\n') {
        let empty = line.trim_matches(['\r', '\n']).is_empty();
        if empty_run.is_some_and(|run| run != empty) {
            units.push(&text[start..end]);
            start = end;
        }
        empty_run = Some(empty);
        end += line.len();
    }
    if start < end {
        units.push(&text[start..end]);
    }
    units
}

/// Whether apt counts the unit: comments and lines of blanks alone are none.
pub(super) fn is_stanza(unit: &str) -> bool {
    unit.lines().any(|line| !line.is_empty() && !line.starts_with('#') && !goes_on(line))
}

pub(super) fn entry(unit: &str, number: usize) -> Option<Entry> {
    let fields = fields(&lines(unit))?;
    let words = |name: &str| -> Vec<String> {
        last(&fields, name)
            .map(|field| field.value.split(blank).filter(|word| !word.is_empty()))
            .map(|words| words.map(ToOwned::to_owned).collect())
            .unwrap_or_default()
    };
    if last(&fields, "Enabled").is_some_and(|field| off(&field.value)) {
        return None;
    }
    let (types, uris, suites) = (words("Types"), words("URIs"), words("Suites"));
    if types.is_empty() || uris.is_empty() {
        return None;
    }
    let snapshot = words("Snapshot").into_iter().next();
    let components = words("Components");
    let architectures = Architectures {
        only: last(&fields, "Architectures").map(|_| words("Architectures")),
        added: words("Architectures-Add"),
        removed: words("Architectures-Remove"),
    };
    Some(Entry { number, types, uris, suites, components, architectures, snapshot })
}

pub(super) fn edit(unit: &str, edit: &Edit) -> String {
    let mut text = unit.to_owned();
    match edit {
        Edit::Rewrite(uris) => {
            let mut distinct: Vec<&str> = Vec::new();
            for uri in uris {
                if !distinct.contains(&uri.as_str()) {
                    distinct.push(uri);
                }
            }
            text = set(&text, "URIs", &distinct.join(" "));
            text = without(&text, "Snapshot");
        }
        Edit::Native(id) => text = set(&text, "Snapshot", id),
    }
    set(&text, "Check-Valid-Until", "no")
}

/// The stanza with a value in place of the one that counts, or with one more field.
fn set(unit: &str, name: &str, value: &str) -> String {
    let lines = lines(unit);
    let Some(fields) = fields(&lines) else { return unit.to_owned() };
    // a file with line ends of another system keeps them
    let end = if lines.first().is_some_and(|line| line.ends_with("\r\n")) { "\r\n" } else { "\n" };
    let mut text = String::with_capacity(unit.len() + 64);
    let mut push = |line: &str| {
        // what comes after a last line without its end would be joined to that line
        if !text.is_empty() && !text.ends_with('\n') {
            text.push_str(end);
        }
        text.push_str(line);
    };
    if let Some(field) = last(&fields, name) {
        let (head, below) = (lines[field.first], &lines[field.first + 1..field.end]);
        let (before, after) = head.split_at(head.find(':').map_or(0, |colon| colon + 1));
        let own = after.trim_start_matches([' ', '\t']);
        let values = below.iter().filter(|line| !line.starts_with('#'));
        let indent = values.map(|line| &line[..line.len() - line.trim_start().len()]).next();
        lines[..field.first].iter().for_each(|line| push(line));
        match indent.map(|indent| indent.trim_end_matches(['\r', '\n'])) {
            Some(indent) if own.trim().is_empty() && !indent.is_empty() => {
                push(&format!("{before}{end}"));
                push(&format!("{indent}{value}{end}"));
            }
            _ if own.trim().is_empty() => push(&format!("{before} {value}{end}")),
            _ => push(&format!("{before}{}{value}{end}", &after[..after.len() - own.len()])),
        }
        below.iter().filter(|line| line.starts_with('#')).for_each(|line| push(line));
        lines[field.end..].iter().for_each(|line| push(line));
    } else {
        let at = fields.last().map_or(lines.len(), |field| field.end);
        lines[..at].iter().for_each(|line| push(line));
        push(&format!("{name}: {value}{end}"));
        lines[at..].iter().for_each(|line| push(line));
    }
    text
}

/// The stanza without the fields of a name; comments within them stay.
fn without(unit: &str, name: &str) -> String {
    let lines = lines(unit);
    let Some(fields) = fields(&lines) else { return unit.to_owned() };
    let gone = |at: usize| {
        let within = |field: &Field<'_>| (field.first..field.end).contains(&at);
        !lines[at].starts_with('#')
            && fields.iter().any(|field| within(field) && field.name.eq_ignore_ascii_case(name))
    };
    (0..lines.len()).filter(|at| !gone(*at)).map(|at| lines[at]).collect()
}

fn lines(unit: &str) -> Vec<&str> {
    unit.split_inclusive('\n').collect()
}

/// The fields of a stanza; none if one of its lines is no field, which is left to apt, whose words
/// are the better.
fn fields<'a>(lines: &[&'a str]) -> Option<Vec<Field<'a>>> {
    let mut fields: Vec<Field<'a>> = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with('#') {
            continue;
        }
        if goes_on(line) {
            // blanks before the first field are nothing
            if let Some(field) = fields.last_mut() {
                field.value.push_str(line);
                field.end = at + 1;
            }
            continue;
        }
        let (name, value) = line.split_once(':')?;
        let name = name.trim_end_matches(blank);
        fields.push(Field { name, value: value.to_owned(), first: at, end: at + 1 });
    }
    Some(fields)
}

/// Whether a line goes on with the field before it.
fn goes_on(line: &str) -> bool {
    line.starts_with(blank)
}

/// What apt takes for a blank.
fn blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\r' | '\n' | '\x0b' | '\x0c')
}

/// The field of a name that counts.
fn last<'a, 'b>(fields: &'a [Field<'b>], name: &str) -> Option<&'a Field<'b>> {
    fields.iter().rev().find(|field| field.name.eq_ignore_ascii_case(name))
}

/// Whether a value is one of apt's words for no, and nothing else.
fn off(value: &str) -> bool {
    // apt looks for the word in the next line only behind a space
    let begins =
        |(at, c): &(usize, char)| !blank(*c) || (*c == '\n' && !value[at + 1..].starts_with(' '));
    let start = value.char_indices().find(begins).map_or(value.len(), |(at, _)| at);
    let word = value[start..].trim_end_matches(blank);
    let digits = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")).unwrap_or(word);
    (!digits.is_empty() && digits.bytes().all(|byte| byte == b'0'))
        || ["no", "false", "without", "off", "disable"]
            .iter()
            .any(|no| word.eq_ignore_ascii_case(no))
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEBIAN: &str = "# upstream\nTypes: deb deb-src\n# mirror nearby\nURIs: \
        http://deb.debian.org/debian\nSuites: trixie trixie-updates\nComponents: main\n\
        Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg\n";

    #[test]
    fn units_joined_are_the_text() {
        for (text, count) in [
            ("", 0),
            ("A: 1\n\nB: 2\n", 3),
            ("\n\n# c\nA: 1\n \n\nB: 2", 4),
            ("A: 1\n \nB: 2\n\r\nC: 3", 3),
            ("# only\n", 1),
        ] {
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
            (
                "two stanzas in appearance, with a line of blanks between them",
                "Types: deb\nURIs: http://a\nSnapshot: 1\nSuites: x\n \t\nTypes: deb\n\
                 URIs: http://b\nSnapshot: 2\nSuites: y\n",
                "Types: deb\nURIs: http://a\nSuites: x\n \t\nTypes: deb\nURIs: http://s/1\n\
                 Suites: y\nCheck-Valid-Until: no\n",
            ),
            (
                "comments within a value and at the end",
                "Types: deb\nURIs:\n# near\n\thttp://a\n# far\n\thttp://b\nSuites: x\n# end\n",
                "Types: deb\nURIs:\n\thttp://s/1\n# near\n# far\nSuites: x\n\
                 Check-Valid-Until: no\n# end\n",
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
