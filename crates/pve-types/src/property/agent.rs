//! `agent`: how the host speaks to the guest agent.

use super::grammar::{Grammar, Kind};
use crate::lenient::is_true;

super::codec! {
    /// The guest agent's settings: `1`, `enabled=1,fstrim_cloned_disks=1`.
    Agent
}

impl Agent {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "the agent's settings",
        default_key: Some("enabled"),
        aliases: &[("freeze-fs-on-backup", "freeze-fs"), ("guest-fsfreeze", "freeze-fs")],
        keys: &["enabled", "freeze-fs", "fstrim_cloned_disks", "type"],
        choices: &[("type", &["virtio", "isa"])],
        kinds: &[
            ("enabled", Kind::Flag),
            ("freeze-fs", Kind::Flag),
            ("fstrim_cloned_disks", Kind::Flag),
        ],
        defaults: &[
            ("enabled", "0"),
            ("freeze-fs", "1"),
            ("fstrim_cloned_disks", "0"),
            ("type", "virtio"),
        ],
        ..Grammar::PLAIN
    };

    /// Whether the host may ask the agent.
    #[must_use]
    pub fn enabled(&self) -> bool {
        self.get("enabled").is_some_and(is_true)
    }
}
