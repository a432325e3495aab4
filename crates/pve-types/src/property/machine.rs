//! `machine`: the emulated board.

use super::grammar::{Grammar, Kind};

super::codec! {
    /// The emulated board: `q35`, `pc-q35-9.0,viommu=intel`.
    Machine
}

impl Machine {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a machine type",
        default_key: Some("type"),
        keys: &["type", "aw-bits", "enable-s3", "enable-s4", "viommu"],
        choices: &[("viommu", &["intel", "virtio"])],
        kinds: &[("enable-s3", Kind::Flag), ("enable-s4", Kind::Flag), ("aw-bits", Kind::Number)],
        ..Grammar::PLAIN
    };
}
