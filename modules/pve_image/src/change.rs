//! One step.

use std::fmt;

use pve_types::{NodeName, VolId};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Bring the file to a node that does not have it.
    Fetch {
        /// The node.
        node: NodeName,
        /// The volume.
        volid: VolId,
        /// Whether the node fetches it by itself.
        by_node: bool,
    },
    /// Put the file in the place of another.
    Replace {
        /// The node.
        node: NodeName,
        /// The volume.
        volid: VolId,
        /// Whether the node fetches it by itself.
        by_node: bool,
    },
    /// Remove the file.
    Remove {
        /// The node.
        node: NodeName,
        /// The volume.
        volid: VolId,
    },
    /// Remove what an interrupted run left.
    Tidy {
        /// The node.
        node: NodeName,
        /// The volume.
        volid: VolId,
    },
}

impl Change {
    /// The node that it concerns.
    pub(crate) fn node(&self) -> &NodeName {
        match self {
            Self::Fetch { node, .. }
            | Self::Replace { node, .. }
            | Self::Remove { node, .. }
            | Self::Tidy { node, .. } => node,
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = |by_node: bool| if by_node { "download" } else { "upload" };
        match self {
            Self::Fetch { node, volid, by_node } => {
                write!(f, "{} {volid} to {node}", how(*by_node))
            }
            Self::Replace { node, volid, by_node } => {
                write!(f, "replace {volid} on {node} by {}", how(*by_node))
            }
            Self::Remove { node, volid } => write!(f, "remove {volid} from {node}"),
            Self::Tidy { node, volid } => {
                write!(f, "remove {volid}, left by an interrupted run, from {node}")
            }
        }
    }
}
