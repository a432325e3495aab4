//! What was read: the file and what is left of it on each node.

use pve_types::{NodeName, VolId};

use images::Checksum;

/// The file that is meant, and what there is of it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Found {
    /// Its name on the storage.
    pub(crate) name: String,
    /// The volume.
    pub(crate) volid: Option<VolId>,
    /// The checksum of the source as it is published, if it is known.
    pub(crate) checksum: Option<Checksum>,
    /// Whether the name says the content.
    pub(crate) says: bool,
    /// The size that is wanted, as far as it is known.
    pub(crate) expected: Option<u64>,
    /// Whether the node fetches it.
    pub(crate) by_node: bool,
    /// What there is, on each node that matters.
    pub(crate) copies: Vec<Copy>,
}

/// What there is on one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Copy {
    /// The node.
    pub(crate) node: NodeName,
    /// The file, if it is there.
    pub(crate) there: Option<There>,
    /// What a run that was interrupted left.
    pub(crate) leftovers: Vec<VolId>,
    /// What the comparison with a fresh transfer gave.
    pub(crate) proof: Option<Proof>,
}

/// A file that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct There {
    /// Its size; not all storages say it.
    pub(crate) size: Option<u64>,
}

/// What the comparison with a fresh transfer gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Proof {
    /// Nothing differs.
    Same,
    /// What differs, in words.
    Other(String),
}

impl Found {
    /// The size of the file on a node, as far as PVE says it.
    pub(crate) fn size_on(&self, node: &NodeName) -> u64 {
        let copy = self.copies.iter().find(|copy| copy.node == *node);
        copy.and_then(|copy| copy.there?.size).unwrap_or(0)
    }

    /// The volume's name for messages.
    pub(crate) fn label(&self) -> String {
        self.volid.as_ref().map_or_else(|| self.name.clone(), ToString::to_string)
    }
}
