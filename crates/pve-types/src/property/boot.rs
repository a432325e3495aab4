//! `boot`: the devices to start from, in order.

use super::grammar::Grammar;

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
