//! `smbios1`: what the firmware says about the machine.

use super::grammar::{Grammar, Kind};
use super::limit::{Limit, has_hex};

/// PVE takes these letters only, whether they are base64 or stand for themselves.
const BASE64: Limit = Limit::Form(
    is_base64,
    "letters, digits, + and /; give any other text in base64, together with base64: true",
);

super::codec! {
    /// The firmware's table: `uuid=...,serial=QUJDPT0=,base64=1`.
    Smbios
}

impl Smbios {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a firmware table",
        keys: &["base64", "family", "manufacturer", "product", "serial", "sku", "uuid", "version"],
        limits: &[
            ("uuid", Limit::Form(is_uuid, "eight, four, four, four and twelve hexadecimal digits")),
            ("family", BASE64),
            ("manufacturer", BASE64),
            ("product", BASE64),
            ("serial", BASE64),
            ("sku", BASE64),
            ("version", BASE64),
        ],
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

fn is_base64(text: &str) -> bool {
    let text = text.strip_suffix('=').unwrap_or(text);
    let text = text.strip_suffix('=').unwrap_or(text);
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'+' || byte == b'/';
    !text.is_empty() && text.bytes().all(plain)
}

/// Whether a text is a UUID.
pub(crate) fn is_uuid(text: &str) -> bool {
    let parts: Vec<&str> = text.split('-').collect();
    parts.len() == 5 && parts.iter().zip([8, 4, 4, 4, 12]).all(|(part, count)| has_hex(part, count))
}
