//! The one-line form: `deb [ option=value ... ] URI SUITE COMPONENT... # comment`.

use std::ops::Range;

use super::{Architectures, Edit, Entry};

struct Parts {
    options: Option<Range<usize>>,
    uri: Range<usize>,
    entry: Entry,
}

pub(super) fn entry(line: &str, number: usize) -> Option<Entry> {
    parts(line).map(|parts| Entry { number, ..parts.entry })
}

pub(super) fn edit(line: &str, edit: &Edit) -> String {
    let Some(parts) = parts(line) else { return line.to_owned() };
    let mut wanted = vec!["check-valid-until=no".to_owned()];
    let uri = match edit {
        Edit::Rewrite(uris) => uris.first().map_or(&line[parts.uri.clone()], String::as_str),
        Edit::Native(id) => {
            wanted.push(format!("snapshot={id}"));
            &line[parts.uri.clone()]
        }
    };
    let mut result = String::with_capacity(line.len() + 64);
    match &parts.options {
        Some(range) => {
            let inner = &line[range.start + 1..range.end - 1];
            let (lead, trail) = edges(inner);
            let kept = inner.split_whitespace().filter(|option| !replaced(option));
            let all: Vec<&str> = kept.chain(wanted.iter().map(String::as_str)).collect();
            result.push_str(&line[..=range.start]);
            result.push_str(lead);
            result.push_str(&all.join(" "));
            result.push_str(trail);
            result.push_str(&line[range.end - 1..parts.uri.start]);
        }
        None => {
            result.push_str(&line[..parts.uri.start]);
            result.push_str(&format!("[{}] ", wanted.join(" ")));
        }
    }
    result.push_str(uri);
    result.push_str(&line[parts.uri.end..]);
    result
}

/// Options that an edit brings itself.
fn replaced(option: &str) -> bool {
    let name = option.split(['=', '+', '-']).next().unwrap_or_default();
    option.starts_with("check-valid-until") || name == "snapshot"
}

fn edges(inner: &str) -> (&str, &str) {
    let lead = inner.len() - inner.trim_start().len();
    let trail = inner.trim_end().len().max(lead);
    (&inner[..lead], &inner[trail..])
}

fn parts(line: &str) -> Option<Parts> {
    let words = words(line);
    let mut words = words.into_iter();
    let kind = &line[words.next()?];
    if kind != "deb" && kind != "deb-src" {
        return None;
    }
    let mut uri = words.next()?;
    let mut options = None;
    if line[uri.clone()].starts_with('[') && line[uri.clone()].ends_with(']') {
        options = Some(uri);
        uri = words.next()?;
    }
    let suite = words.next()?;
    let components = words.map(|range| line[range].to_owned()).collect();
    let inner = options.as_ref().map_or("", |range| &line[range.start + 1..range.end - 1]);
    // of an option that is given twice the last one counts
    let option = |name: &str| {
        let mut options = inner.split_whitespace().rev();
        options.find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    };
    let listed = |name: &str| -> Option<Vec<String>> {
        Some(option(name)?.trim_matches('"').split(',').map(ToOwned::to_owned).collect())
    };
    let architectures = Architectures {
        only: listed("arch"),
        added: listed("arch+").unwrap_or_default(),
        removed: listed("arch-").unwrap_or_default(),
    };
    let snapshot = option("snapshot");
    let plain = |range: &Range<usize>| line[range.clone()].trim_matches('"').to_owned();
    let entry = Entry {
        number: 0,
        types: vec![kind.to_owned()],
        uris: vec![plain(&uri)],
        suites: vec![plain(&suite)],
        components,
        architectures,
        snapshot: snapshot.map(ToOwned::to_owned),
    };
    Some(Parts { options, uri, entry })
}

/// The words before the comment. Quotes and brackets keep blanks within a word together.
fn words(line: &str) -> Vec<Range<usize>> {
    let bytes = line.as_bytes();
    let mut words = Vec::new();
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at].is_ascii_whitespace() {
            at += 1;
            continue;
        }
        let start = at;
        if bytes[at] == b'[' {
            // the options end at their bracket, whether or not a blank follows
            at = line[at..].find(']').map_or(bytes.len(), |close| at + close + 1);
            words.push(start..at);
            continue;
        }
        while at < bytes.len() && !bytes[at].is_ascii_whitespace() && bytes[at] != b'#' {
            let close = match bytes[at] {
                b'"' => Some(b'"'),
                b'[' => Some(b']'),
                _ => None,
            };
            at += 1;
            if let Some(close) = close {
                while at < bytes.len() && bytes[at] != close {
                    at += 1;
                }
                at = (at + 1).min(bytes.len());
            }
        }
        if start < at {
            words.push(start..at);
        }
        if at < bytes.len() && bytes[at] == b'#' {
            break;
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(line: &str) -> String {
        edit(line, &Edit::Rewrite(vec!["http://s/1".into()]))
    }

    #[test]
    fn lines_are_rewritten_and_keep_the_rest() {
        for (line, wanted) in [
            (
                "deb http://deb.debian.org/debian trixie main contrib\n",
                "deb [check-valid-until=no] http://s/1 trixie main contrib\n",
            ),
            (
                "  deb\t[ arch=amd64  signed-by=/k.gpg ]\thttp://a/debian  trixie main # ours\n",
                "  deb\t[ arch=amd64 signed-by=/k.gpg check-valid-until=no ]\thttp://s/1  trixie \
                 main # ours\n",
            ),
            (
                "deb-src [check-valid-until=yes] http://a x main",
                "deb-src [check-valid-until=no] http://s/1 x main",
            ),
            (
                "deb [snapshot=20250101T000000Z trusted=yes] http://a ./\r\n",
                "deb [trusted=yes check-valid-until=no] http://s/1 ./\r\n",
            ),
            ("deb [] http://a x main", "deb [check-valid-until=no] http://s/1 x main"),
            (
                "deb [signed-by=/k.gpg]http://a x main",
                "deb [signed-by=/k.gpg check-valid-until=no]http://s/1 x main",
            ),
            ("# deb http://a x main\n", "# deb http://a x main\n"),
            ("deb http://a # x main\n", "deb http://a # x main\n"),
            ("rpm http://a x main\n", "rpm http://a x main\n"),
            ("\n", "\n"),
        ] {
            assert_eq!(rewrite(line), wanted, "{line:?}");
        }
    }

    #[test]
    fn native_adds_the_snapshot_option() {
        assert_eq!(
            edit("deb [arch=amd64] http://a x main\n", &Edit::Native("ID".into())),
            "deb [arch=amd64 check-valid-until=no snapshot=ID] http://a x main\n"
        );
    }

    #[test]
    fn entries_are_read() {
        let cd = entry("deb cdrom:[Debian 13 _Trixie_ - amd64]/ trixie main\n", 3).unwrap();
        assert_eq!(cd.uris, ["cdrom:[Debian 13 _Trixie_ - amd64]/"]);
        assert_eq!((cd.number, cd.suites), (3, vec!["trixie".to_owned()]));
        let pinned = entry("deb [snapshot=ID] http://a x", 1).unwrap();
        assert_eq!(pinned.snapshot.as_deref(), Some("ID"));
        let arch =
            entry("deb [arch=i386 arch=amd64,arm64 arch+=riscv64 arch-=arm64] http://a x", 1);
        assert_eq!(arch.unwrap().architectures.of(&[]), ["amd64", "riscv64"]);
        assert_eq!(entry("deb \"http://a b/\" x main", 1).unwrap().uris, ["http://a b/"]);
    }
}
