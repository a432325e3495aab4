//! The whole configuration as a staging copy: each file under a number, `Include` lines rewritten
//! to the copies. Line numbers stay as they are, so that sshd's complaints can be led back.

use super::{Content, MAIN, Source, canonical, expand, split};

/// A staging copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assembly {
    folder: String,
    files: Vec<(String, Staged)>,
    matches: Matches,
}

/// What becomes of `Match` blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Matches {
    /// They are read.
    Kept,
    /// They are left out: sshd lets them override whatever stands outside, wherever it stands.
    LeftOut,
}

/// A file of the staging copy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Staged {
    /// Its text.
    Text(String),
    /// A link that leads nowhere, as the name does that it stands for.
    Dangling,
}

impl Assembly {
    /// Lays out the copy in `folder`, beginning with this text of the main file. With `first`,
    /// that file is read before everything else.
    pub(crate) fn new(
        source: &dyn Source,
        main: &str,
        folder: &str,
        first: Option<&str>,
        matches: Matches,
    ) -> Self {
        let mut assembly = Self { folder: folder.to_owned(), files: Vec::new(), matches };
        assembly.files.push((MAIN.to_owned(), Staged::Dangling));
        let mut text = assembly.rewritten(source, main);
        if let Some(first) = first {
            // on the line of the first one, so that no line number moves
            text = format!("Include {first}\n{text}");
        }
        assembly.files[0].1 = Staged::Text(text);
        assembly
    }

    /// The path of the main file's copy.
    pub(crate) fn main(&self) -> String {
        self.path(0)
    }

    /// The paths of the copies and what they hold.
    pub(crate) fn copies(&self) -> impl Iterator<Item = (String, &Staged)> {
        self.files.iter().enumerate().map(|(number, (_, staged))| (self.path(number), staged))
    }

    /// A text with the names of copies replaced by the names of the files that they stand for.
    pub(crate) fn real_names(&self, text: &str) -> String {
        // the last first, since the name of the first may be the beginning of another
        (0..self.files.len())
            .rev()
            .fold(text.to_owned(), |text, n| text.replace(&self.path(n), &self.files[n].0))
    }

    fn path(&self, number: usize) -> String {
        format!("{}/{number}.conf", self.folder)
    }

    fn rewritten(&mut self, source: &dyn Source, text: &str) -> String {
        let mut in_match = false;
        let lines: Vec<String> = text
            .split('\n')
            .map(|line| {
                let words = split(line);
                in_match |= words.first().is_some_and(|first| canonical(first) == "match");
                match words.split_first() {
                    _ if in_match && self.matches == Matches::LeftOut => String::new(),
                    Some((first, patterns))
                        if canonical(first) == "include" && !patterns.is_empty() =>
                    {
                        self.include(source, patterns)
                    }
                    _ => line.to_owned(),
                }
            })
            .collect();
        lines.join("\n")
    }

    fn include(&mut self, source: &dyn Source, patterns: &[String]) -> String {
        let mut line = String::new();
        for file in patterns.iter().flat_map(|pattern| expand(source, pattern)) {
            let number = self.number(source, &file);
            line.push(' ');
            line.push_str(&self.path(number));
        }
        if line.is_empty() { "# Include of nothing".to_owned() } else { format!("Include{line}") }
    }

    fn number(&mut self, source: &dyn Source, file: &str) -> usize {
        if let Some(number) = self.files.iter().position(|(known, _)| known == file) {
            return number;
        }
        let number = self.files.len();
        self.files.push((file.to_owned(), Staged::Dangling));
        self.files[number].1 = match source.read(file) {
            Content::Text(text) => Staged::Text(self.rewritten(source, &text)),
            Content::Folder => Staged::Text(String::new()),
            Content::Unreadable => Staged::Dangling,
        };
        number
    }
}
