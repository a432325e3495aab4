//! `netN` of a container.

use super::grammar::{Grammar, Kind};
use crate::MacAddress;

super::codec! {
    /// A container's network device: `name=eth0,bridge=vmbr0,hwaddr=BC:24:11:00:00:01,ip=dhcp`.
    LxcNet
}

impl LxcNet {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a container's network device",
        keys: &[
            "name",
            "bridge",
            "firewall",
            "gw",
            "gw6",
            "host-managed",
            "hwaddr",
            "ip",
            "ip6",
            "link_down",
            "mtu",
            "rate",
            "tag",
            "trunks",
            "type",
        ],
        kinds: &[
            ("hwaddr", Kind::Mac),
            ("firewall", Kind::Flag),
            ("link_down", Kind::Flag),
            ("host-managed", Kind::Flag),
            ("mtu", Kind::Number),
            ("rate", Kind::Number),
            ("tag", Kind::Number),
            ("trunks", Kind::Set),
            ("ip", Kind::Ip),
            ("gw", Kind::Ip),
            ("ip6", Kind::Ip),
            ("gw6", Kind::Ip),
        ],
        defaults: &[("firewall", "0"), ("link_down", "0"), ("type", "veth")],
        first: &["name"],
        ..Grammar::PLAIN
    };

    /// The MAC address.
    #[must_use]
    pub fn mac(&self) -> Option<MacAddress> {
        self.get("hwaddr")?.parse().ok()
    }

    /// The bridge it is plugged into.
    #[must_use]
    pub fn bridge(&self) -> Option<&str> {
        self.get("bridge")
    }
}
