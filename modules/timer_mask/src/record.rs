//! How a timer was before it was masked. It cannot be derived while the timer is masked, so it is
//! kept on the node.

use std::path::PathBuf;

use managed_node::{Attributes, Node};
use serde::{Deserialize, Serialize};

use ansible_module::Failure;

use crate::error::Error;

/// Survives reboots and is in nobody's package.
const FOLDER: &str = "/var/lib/ferrite/timer_mask";

/// What is remembered of one timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    /// How far we came. A run that was killed is told by it from a mask that was removed by hand.
    pub(crate) phase: Phase,
    /// Whether the timer was running.
    pub(crate) active: bool,
    /// The links that enabled it, or gave it another name.
    pub(crate) links: Vec<Link>,
}

/// How far masking or unmasking came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Phase {
    /// Begun; the mask may not be there yet.
    Masking,
    /// The mask was placed.
    Masked,
    /// Bringing back what was.
    Unmasking,
}

/// A symlink that made a unit want the timer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Link {
    /// Where it lies.
    pub(crate) path: String,
    /// Where it points, as written.
    pub(crate) target: PathBuf,
}

fn path(timer: &str) -> String {
    format!("{FOLDER}/{timer}.json")
}

/// Reads what is remembered of a timer.
pub(crate) fn read(node: &Node, timer: &str) -> Result<Option<Record>, Failure> {
    let path = path(timer);
    let Some(text) = node.read_text_if_any(&path)? else { return Ok(None) };
    let record = serde_json::from_str(&text).map_err(|source| Error::Record { path, source })?;
    Ok(Some(record))
}

/// Remembers the state of a timer.
pub(crate) fn write(node: &Node, timer: &str, record: &Record) -> Result<(), Failure> {
    node.make_folder(FOLDER, 0o755)?;
    let text = format!("{}\n", serde_json::to_string(record)?);
    Ok(node.replace(path(timer), text.as_bytes(), Attributes::default())?)
}

/// Forgets a timer.
pub(crate) fn remove(node: &Node, timer: &str) -> Result<(), Failure> {
    node.remove(path(timer))?;
    Ok(())
}
