//! Which architectures a source is for.

/// The node's own, or others, with some more and without some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Architectures {
    /// In place of the node's.
    pub(crate) only: Option<Vec<String>>,
    pub(crate) added: Vec<String>,
    pub(crate) removed: Vec<String>,
}

impl Architectures {
    /// The architectures whose indexes apt fetches, on a node that has these.
    pub(crate) fn of<'a>(&'a self, node: &'a [String]) -> Vec<&'a str> {
        let base = self.only.as_deref().unwrap_or(node);
        let all = base.iter().chain(&self.added);
        all.filter(|name| !self.removed.contains(name)).map(String::as_str).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nodes_are_replaced_added_to_and_taken_from() {
        let words = |text: &str| -> Vec<String> {
            text.split_whitespace().map(ToOwned::to_owned).collect()
        };
        let node = words("amd64 i386");
        for (only, added, removed, wanted) in [
            (None, "", "", "amd64 i386"),
            (Some("arm64"), "", "", "arm64"),
            (None, "arm64", "i386", "amd64 arm64"),
            (Some("amd64 arm64"), "i386", "amd64", "arm64 i386"),
            (Some("amd64"), "", "amd64", ""),
        ] {
            let (only, added, removed) = (only.map(words), words(added), words(removed));
            let source = Architectures { only, added, removed };
            assert_eq!(source.of(&node), words(wanted), "{source:?}");
        }
    }
}
