//! A guest's configuration, and the text PVE keeps it in: `key: value` lines, the description as
//! `#` lines, `[PENDING]`, `[special:cloudinit]`, and one section for each snapshot.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;
use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use sha1::{Digest, Sha1};

/// The settings of one section.
pub(crate) type Section = BTreeMap<String, String>;

/// A whole configuration file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Config {
    /// What is in force, or what a stopped guest starts with.
    pub(crate) main: Section,
    /// Values that wait for the next stop and start.
    pub(crate) pending: Section,
    /// Keys that go at the next stop and start.
    pub(crate) deletes: BTreeSet<String>,
    /// What the cloud-init drive was last made from, as far as it differs.
    pub(crate) cloudinit: Section,
    /// Snapshots in the order they were made.
    pub(crate) snapshots: IndexMap<String, Section>,
}

/// PVE encodes what would break a line: controls, the percent sign and the colon.
const DESCRIPTION: &AsciiSet = &CONTROLS.add(b'%').add(b':');

fn write_section(text: &mut String, section: &Section) {
    if let Some(description) = section.get("description") {
        for line in description.split('\n') {
            text.push('#');
            text.extend(utf8_percent_encode(line, DESCRIPTION));
            text.push('\n');
        }
    }
    for (key, value) in section.iter().filter(|(key, _)| *key != "description") {
        text.push_str(&format!("{key}: {value}\n"));
    }
}

impl Config {
    /// The text of the file.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        write_section(&mut text, &self.main);
        if !self.pending.is_empty() || !self.deletes.is_empty() {
            text.push_str("\n[PENDING]\n");
            if !self.deletes.is_empty() {
                let keys: Vec<&str> = self.deletes.iter().map(String::as_str).collect();
                text.push_str(&format!("delete: {}\n", keys.join(",")));
            }
            write_section(&mut text, &self.pending);
        }
        if !self.cloudinit.is_empty() {
            text.push_str("\n[special:cloudinit]\n");
            write_section(&mut text, &self.cloudinit);
        }
        for (name, section) in &self.snapshots {
            text.push_str(&format!("\n[{name}]\n"));
            write_section(&mut text, section);
        }
        text
    }

    /// Reads the text of a file; lines that are not settings are passed over, as PVE does.
    pub(crate) fn parse(text: &str) -> Self {
        let mut config = Self::default();
        let mut name = String::new();
        let mut section = Section::new();
        let mut lines: Vec<&str> = Vec::new();
        for line in text.lines() {
            if let Some(next) = line.strip_prefix('[').and_then(|l| l.strip_suffix(']')) {
                config.store(&name, std::mem::take(&mut section), &lines);
                lines.clear();
                name = next.to_owned();
            } else if let Some(comment) = line.strip_prefix('#') {
                lines.push(comment);
            } else if let Some((key, value)) = line.split_once(": ") {
                section.insert(key.to_owned(), value.to_owned());
            }
        }
        config.store(&name, section, &lines);
        config
    }

    fn store(&mut self, name: &str, mut section: Section, comments: &[&str]) {
        if !comments.is_empty() {
            let lines: Vec<String> = comments
                .iter()
                .map(|line| percent_decode_str(line).decode_utf8_lossy().into_owned())
                .collect();
            section.insert("description".to_owned(), lines.join("\n"));
        }
        match name {
            "" => self.main = section,
            "PENDING" => {
                if let Some(keys) = section.remove("delete") {
                    self.deletes = keys.split(',').map(str::to_owned).collect();
                }
                self.pending = section;
            }
            "special:cloudinit" => self.cloudinit = section,
            _ => {
                self.snapshots.insert(name.to_owned(), section);
            }
        }
    }

    /// The digest of the text.
    pub(crate) fn digest(&self) -> String {
        hex(&Sha1::digest(self.print().as_bytes()))
    }

    /// The settings a guest has after the next stop and start.
    pub(crate) fn merged(&self) -> Section {
        let mut merged = self.main.clone();
        for key in &self.deletes {
            merged.remove(key);
        }
        merged.extend(self.pending.clone());
        merged
    }

    /// Puts what is pending into force.
    pub(crate) fn apply_pending(&mut self) {
        self.main = self.merged();
        self.pending.clear();
        self.deletes.clear();
    }
}

/// Bytes in lower-case hexadecimal.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The SHA-1 of a text in hexadecimal.
pub(crate) fn sha1_hex(text: &str) -> String {
    hex(&Sha1::digest(text.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_survives_its_file() {
        let text = "#line one\n#line two%3A ünï # hash %2541\nboot: order=scsi0\nmemory: 128\n\
                    tags:  \n\n[PENDING]\ndelete: vga\nmemory: 256\n\n[special:cloudinit]\nciuser: a\n\
                    \n[s1]\n#first\nmemory: 64\nsnaptime: 1\n";
        let config = Config::parse(text);
        assert_eq!(config.main["description"], "line one\nline two: ünï # hash %41");
        assert_eq!(config.main["tags"], " ");
        assert_eq!(config.merged()["memory"], "256");
        assert_eq!(config.snapshots["s1"]["description"], "first");
        assert_eq!(config.print(), text.replace("ünï", "%C3%BCn%C3%AF"));
        assert_eq!(Config::parse(&config.print()), config);
    }

    #[test]
    fn the_digest_is_that_of_the_text() {
        assert_eq!(Config::default().digest(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
    }
}
