//! `netN` of a VM.

use super::grammar::{Grammar, Kind, MODELS};
use super::limit::Limit;
use crate::MacAddress;

super::codec! {
    /// A VM's network device: `virtio=BC:24:11:00:00:01,bridge=vmbr0,tag=20`.
    NetDevice
}

impl NetDevice {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a network device",
        default_key: Some("model"),
        keys: &[
            "model",
            "macaddr",
            "bridge",
            "firewall",
            "host-tunnel",
            "link_down",
            "mtu",
            "queues",
            "rate",
            "tag",
            "trunks",
        ],
        choices: &[("model", &MODELS)],
        limits: &[
            ("mtu", Limit::Whole(1, 65_520)),
            ("queues", Limit::Whole(0, 64)),
            ("rate", Limit::ANY),
            ("tag", Limit::Whole(1, 4094)),
            ("trunks", Limit::RANGES),
        ],
        kinds: &[
            ("macaddr", Kind::Mac),
            ("firewall", Kind::Flag),
            ("link_down", Kind::Flag),
            ("host-tunnel", Kind::Flag),
            ("mtu", Kind::Number),
            ("queues", Kind::Number),
            ("rate", Kind::Number),
            ("tag", Kind::Number),
            ("trunks", Kind::Set),
        ],
        defaults: &[("firewall", "0"), ("link_down", "0")],
        models: true,
        ..Grammar::PLAIN
    };

    /// The model, `virtio`.
    #[must_use]
    pub fn model(&self) -> Option<&str> {
        self.get("model")
    }

    /// The MAC address.
    #[must_use]
    pub fn mac(&self) -> Option<MacAddress> {
        self.get("macaddr")?.parse().ok()
    }

    /// The bridge it is plugged into.
    #[must_use]
    pub fn bridge(&self) -> Option<&str> {
        self.get("bridge")
    }
}
