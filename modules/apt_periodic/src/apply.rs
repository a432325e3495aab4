//! Writes or removes the file, and puts it back when apt then does not take its configuration.

use managed_node::{Attributes, Command, Node};

use crate::error::Error;
use crate::plan::Change;

pub(crate) fn apply(change: &Change, node: &Node) -> Result<(), Error> {
    let path = match change {
        Change::Write { path, .. } | Change::Remove { path } => path,
    };
    let saved = node.save(path)?;
    match change {
        Change::Write { text, .. } => {
            let attributes = Attributes { mode: Some(0o644), ..saved.attributes_for_root() };
            node.replace(path, text.as_bytes(), attributes)?;
        }
        Change::Remove { .. } => {
            node.remove(path)?;
        }
    }
    let output = node.run(&Command::new("apt-config").arg("dump"))?;
    if output.success() {
        return Ok(());
    }
    node.restore(path, &saved)?;
    Err(Error::Candidate { complaint: output.complaint().to_owned() })
}
