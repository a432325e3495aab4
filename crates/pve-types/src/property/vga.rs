//! `vga`: the display.

use super::grammar::{Grammar, Kind};

super::codec! {
    /// The display: `serial0`, `qxl,memory=32`.
    Vga
}

impl Vga {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a display",
        default_key: Some("type"),
        kinds: &[("memory", Kind::Number)],
        defaults: &[("type", "std")],
        ..Grammar::PLAIN
    };
}
