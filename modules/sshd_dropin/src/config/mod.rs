//! sshd's configuration as sshd reads it: lines, `Match` blocks, `Include` patterns. Pure: files
//! come through [`Source`], so that a candidate can be laid over what is there.

mod assemble;
mod example;
mod glob;
mod keyword;
mod line;

pub(crate) use assemble::{Assembly, Matches, Staged};
pub(crate) use example::example_connection;
pub(crate) use glob::matches;
pub(crate) use keyword::{Joining, canonical, is_adding, is_exclusive, joining};
pub(crate) use line::split;

/// The main file.
pub(crate) const MAIN: &str = "/etc/ssh/sshd_config";
/// The folder of drop-ins.
pub(crate) const FOLDER: &str = "/etc/ssh/sshd_config.d";
/// What a relative `Include` is relative to.
const BASE: &str = "/etc/ssh";
/// As deep as sshd follows `Include`.
const MAX_DEPTH: usize = 16;

/// Where files come from.
pub(crate) trait Source {
    /// What lies at a path.
    fn read(&self, path: &str) -> Content;
    /// The names in a folder, in any order.
    fn list(&self, folder: &str) -> Vec<String>;
}

/// What a file has for a reader.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Its text.
    Text(String),
    /// A folder, which sshd reads as an empty file.
    Folder,
    /// Nothing that can be read; a name that leads nowhere.
    Unreadable,
}

/// One line that says something.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Directive {
    /// The file.
    pub(crate) file: String,
    /// The line's number, from 1.
    pub(crate) line: usize,
    /// The keyword in lower case, older names replaced by today's.
    pub(crate) keyword: String,
    /// The line as written, without surrounding blanks.
    pub(crate) text: String,
    /// How far the line is indented.
    pub(crate) indent: usize,
    /// The criteria of the `Match` that it belongs to; several if an `Include` stands in a `Match`.
    pub(crate) conditions: Vec<Condition>,
}

/// A `Match` line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The criteria as written.
    pub(crate) criteria: String,
    /// The file.
    pub(crate) file: String,
    /// The line's number, from 1.
    pub(crate) line: usize,
}

impl Directive {
    /// `file:line`.
    pub(crate) fn place(&self) -> String {
        format!("{}:{}", self.file, self.line)
    }

    /// Whether the line holds for everyone.
    pub(crate) fn is_global(&self) -> bool {
        self.conditions.is_empty()
    }

    /// Whether the line is known to hold for this user: every criterion is about the user's name.
    pub(crate) fn holds_for(&self, user: &str) -> bool {
        self.conditions.iter().all(|condition| condition.holds_for(user))
    }
}

impl Condition {
    fn holds_for(&self, user: &str) -> bool {
        let words = split(&self.criteria);
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let (criterion, inline) = word
                .split_once('=')
                .map_or((word.as_str(), None), |(name, value)| (name, Some(value.to_owned())));
            if criterion.eq_ignore_ascii_case("all") {
                continue;
            }
            let Some(patterns) = inline.or_else(|| words.next().cloned()) else { return false };
            if !criterion.eq_ignore_ascii_case("user") || !in_list(user, &patterns) {
                return false;
            }
        }
        true
    }
}

/// sshd's pattern lists: one that fits, and none with `!` that fits.
fn in_list(name: &str, patterns: &str) -> bool {
    let mut found = false;
    for pattern in patterns.split(',') {
        match pattern.strip_prefix('!') {
            Some(pattern) if matches(pattern, name) => return false,
            Some(_) => {}
            None => found |= matches(pattern, name),
        }
    }
    found
}

/// Everything that was read, in the order in which sshd reads it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Walk {
    /// The lines, `Match` and `Include` left out.
    pub(crate) directives: Vec<Directive>,
    /// Each reading of a file by an `Include`.
    pub(crate) included: Vec<Included>,
}

/// A file that an `Include` names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Included {
    /// The file.
    pub(crate) file: String,
    /// `file:line` of the `Include`.
    pub(crate) by: String,
    /// The `Match` blocks around the `Include`.
    pub(crate) conditions: Vec<Condition>,
}

/// Reads a text as sshd would read the file `path`.
pub(crate) fn walk(source: &dyn Source, path: &str, text: &str) -> Walk {
    let mut walk = Walk::default();
    read(source, path, text, &[], 0, &mut walk);
    walk
}

fn read(
    source: &dyn Source,
    path: &str,
    text: &str,
    around: &[Condition],
    depth: usize,
    walk: &mut Walk,
) {
    let mut here: Option<Condition> = None;
    for (index, raw) in text.split('\n').enumerate() {
        let Some((first, behind)) = line::keyword(raw) else { continue };
        let words = split(raw);
        let rest = &words[1..];
        let keyword = canonical(&first);
        let text = raw.trim_end_matches(line::ENDS).trim_start_matches(line::BLANKS);
        if keyword == "match" {
            let all = rest.len() == 1 && rest[0].eq_ignore_ascii_case("all");
            here = (!all).then(|| Condition {
                criteria: behind.trim().to_owned(),
                file: path.to_owned(),
                line: index + 1,
            });
            continue;
        }
        let conditions: Vec<Condition> = around.iter().chain(&here).cloned().collect();
        if keyword == "include" {
            for pattern in rest {
                for file in expand(source, pattern) {
                    walk.included.push(Included {
                        file: file.clone(),
                        by: format!("{path}:{}", index + 1),
                        conditions: conditions.clone(),
                    });
                    if depth < MAX_DEPTH
                        && let Content::Text(text) = source.read(&file)
                    {
                        read(source, &file, &text, &conditions, depth + 1, walk);
                    }
                }
            }
            continue;
        }
        walk.directives.push(Directive {
            file: path.to_owned(),
            line: index + 1,
            keyword,
            text: text.to_owned(),
            indent: raw.len() - raw.trim_start().len(),
            conditions,
        });
    }
}

/// The files that an `Include` pattern names, in byte order.
pub(crate) fn expand(source: &dyn Source, pattern: &str) -> Vec<String> {
    let pattern =
        if pattern.starts_with('/') { pattern.to_owned() } else { format!("{BASE}/{pattern}") };
    glob::expand(&pattern, &|folder| source.list(folder))
}

#[cfg(test)]
pub(crate) mod tests;
