//! Writes the two files.

use managed_node::{Attributes, Node};

use crate::error::Error;
use crate::observe::{LOCALTIME, TIMEZONE, ZONES};
use crate::plan::Change;

pub(crate) fn apply(change: &Change, node: &Node) -> Result<(), Error> {
    match change {
        Change::Link { name } => node.link(LOCALTIME, format!("{ZONES}/{name}"))?,
        Change::Name { name } => {
            node.replace(TIMEZONE, format!("{name}\n").as_bytes(), Attributes::default())?;
        }
    }
    Ok(())
}
