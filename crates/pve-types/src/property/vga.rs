//! `vga`: the display.

use super::grammar::{Grammar, Kind};
use super::limit::Limit;

super::codec! {
    /// The display: `serial0`, `qxl,memory=32`.
    Vga
}

impl Vga {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a display",
        default_key: Some("type"),
        keys: &["type", "memory", "clipboard"],
        choices: &[
            ("clipboard", &["vnc"]),
            (
                "type",
                &[
                    "std",
                    "cirrus",
                    "vmware",
                    "qxl",
                    "qxl2",
                    "qxl3",
                    "qxl4",
                    "virtio",
                    "virtio-gl",
                    "serial0",
                    "serial1",
                    "serial2",
                    "serial3",
                    "none",
                ],
            ),
        ],
        limits: &[("memory", Limit::Whole(4, 512))],
        kinds: &[("memory", Kind::Number)],
        defaults: &[("type", "std")],
        ..Grammar::PLAIN
    };
}
