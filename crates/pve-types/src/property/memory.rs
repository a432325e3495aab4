//! `memory`: how much a VM has.

use super::grammar::{Grammar, Kind};

super::codec! {
    /// Memory in MiB: `2048`, `current=2048`.
    MemoryString
}

impl MemoryString {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "an amount of memory",
        default_key: Some("current"),
        keys: &["current"],
        kinds: &[("current", Kind::Number)],
        defaults: &[("current", "512")],
        ..Grammar::PLAIN
    };

    /// The memory in MiB.
    #[must_use]
    pub fn mib(&self) -> Option<u64> {
        self.get("current")?.parse().ok()
    }
}
