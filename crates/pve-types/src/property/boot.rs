//! `boot`: the devices to start from, in order.

use super::grammar::Grammar;
use super::limit::Limit;

super::codec! {
    /// The boot order: `order=scsi0;ide2;net0`.
    Boot
}

impl Boot {
    /// The names of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a boot order",
        default_key: Some("legacy"),
        keys: &["order", "legacy"],
        limits: &[(
            "legacy",
            Limit::Form(
                is_legacy,
                "order=scsi0;net0, or one to four of the old letters a, c, d, n",
            ),
        )],
        ..Grammar::PLAIN
    };

    /// The devices in order.
    #[must_use]
    pub fn order(&self) -> Vec<&str> {
        self.get("order")
            .map(|order| order.split(';').filter(|device| !device.is_empty()).collect())
            .unwrap_or_default()
    }
}

fn is_legacy(text: &str) -> bool {
    (1..=4).contains(&text.len()) && text.bytes().all(|byte| b"acdn".contains(&byte))
}
