//! `smbios1`: what the firmware says about the machine.

use super::grammar::{Grammar, Kind};
use super::limit::{Limit, has_hex};

super::codec! {
    /// The firmware's table: `uuid=...,serial=QUJDPT0=,base64=1`.
    Smbios
}

impl Smbios {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a firmware table",
        keys: &["base64", "family", "manufacturer", "product", "serial", "sku", "uuid", "version"],
        limits: &[(
            "uuid",
            Limit::Form(is_uuid, "eight, four, four, four and twelve hexadecimal digits"),
        )],
        kinds: &[("uuid", Kind::Word), ("base64", Kind::Flag)],
        defaults: &[("base64", "0")],
        ..Grammar::PLAIN
    };

    /// The machine's UUID, which a guest keeps for its life and no other guest has.
    #[must_use]
    pub fn uuid(&self) -> Option<String> {
        self.get("uuid").map(str::to_ascii_lowercase)
    }
}

fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, count)| has_hex(part, count))
}
