//! `startup`: when a guest starts with its node.

use super::grammar::{Grammar, Kind};
use super::limit::Limit;

super::codec! {
    /// Order and delays at the start of a node: `order=3,up=10,down=30`.
    Startup
}

impl Startup {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a start-up order",
        default_key: Some("order"),
        keys: &["order", "up", "down"],
        limits: &[
            ("order", Limit::Whole(0, u64::MAX)),
            ("up", Limit::Whole(0, u64::MAX)),
            ("down", Limit::Whole(0, u64::MAX)),
        ],
        kinds: &[("order", Kind::Number), ("up", Kind::Number), ("down", Kind::Number)],
        ..Grammar::PLAIN
    };

    /// The line with every key written out, as PVE prints it; keys that are not known come last.
    #[must_use]
    pub fn spelled_out(&self) -> String {
        let mut parts = Vec::new();
        for key in ["order", "up", "down"] {
            if let Some(value) = self.get(key) {
                parts.push(format!("{key}={value}"));
            }
        }
        let known = |key: &String| Self::GRAMMAR.keys.contains(&key.as_str());
        for (key, value) in self.options.iter().filter(|(key, _)| !known(key)) {
            parts.push(format!("{key}={value}"));
        }
        parts.join(",")
    }
}
