//! What the sources were before they were pinned, kept on the node so that the pin can be changed
//! from their meaning and taken away without a trace.
//!
//! Bytes are kept as characters of the same number, so that a file in any encoding comes back as
//! it was.

use std::collections::BTreeMap;

use managed_node::{Attributes, Node};
use serde::{Deserialize, Serialize};

use crate::archive::Release;
use crate::error::Error;
use crate::params::Method;
use crate::snapshot_id::SnapshotId;

/// Everything the module keeps.
pub(crate) const FOLDER: &str = "/var/lib/ferrite/apt_snapshot_pin";
pub(crate) const FILE: &str = "/var/lib/ferrite/apt_snapshot_pin/memory.json";

/// The pin that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Memory {
    pub(crate) snapshot_id: SnapshotId,
    pub(crate) method: Method,
    pub(crate) files: BTreeMap<String, Remembered>,
    /// The other files of sources, as they were when the pin was proved. One that is added or
    /// changed later is not covered by the proof.
    #[serde(default)]
    pub(crate) beside: BTreeMap<String, String>,
    /// What Release files of mirrors said; the live ones are not fetched again.
    pub(crate) releases: BTreeMap<String, Release>,
}

/// One file. What is absent is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Remembered {
    pub(crate) original: Option<String>,
    pub(crate) placed: String,
}

impl Memory {
    pub(crate) fn read(node: &Node) -> Result<Option<Self>, Error> {
        let Some(text) = node.read_text_if_any(FILE)? else { return Ok(None) };
        serde_json::from_str(&text).map(Some).map_err(|source| Error::Memory { source })
    }

    pub(crate) fn write(memory: Option<&Self>, node: &Node) -> Result<(), Error> {
        match memory {
            Some(memory) => {
                node.make_folder(FOLDER, 0o755)?;
                let text =
                    serde_json::to_string(memory).map_err(|source| Error::Memory { source })?;
                // sources may hold passwords
                let attributes = Attributes { mode: Some(0o600), owner: None };
                node.replace(FILE, text.as_bytes(), attributes)?;
            }
            None => {
                node.remove_tree(FOLDER)?;
            }
        }
        Ok(())
    }
}

/// Bytes as text of as many characters.
pub(crate) fn to_text(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| char::from(*byte)).collect()
}

/// And back.
pub(crate) fn to_bytes(text: &str) -> Vec<u8> {
    // every character came from a byte, or is ASCII that an edit added
    text.chars().map(|character| u8::try_from(u32::from(character)).unwrap_or(b'?')).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_comes_back() {
        let bytes: Vec<u8> = (0..=255).collect();
        assert_eq!(to_bytes(&to_text(&bytes)), bytes);
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        assert_eq!(Memory::read(&node).unwrap(), None);
        let memory = Memory {
            snapshot_id: "20250601T000000Z".parse().unwrap(),
            method: Method::Rewrite,
            files: BTreeMap::from([(
                "/etc/apt/sources.list".to_owned(),
                Remembered { original: Some("\u{ff}\n".into()), placed: "x".into() },
            )]),
            beside: BTreeMap::from([("/etc/apt/sources.list.d/x.list".to_owned(), "\n".into())]),
            releases: BTreeMap::new(),
        };
        Memory::write(Some(&memory), &node).unwrap();
        assert_eq!(Memory::read(&node).unwrap(), Some(memory));
        Memory::write(None, &node).unwrap();
        assert_eq!(Memory::read(&node).unwrap(), None);
    }
}
