//! `ipconfigN`: what cloud-init gives an interface.

use std::net::IpAddr;

use ipnet::IpNet;

use super::grammar::{Grammar, Kind};

super::codec! {
    /// The addresses that cloud-init gives an interface: `ip=10.0.0.5/24,gw=10.0.0.1`.
    IpConfig
}

impl IpConfig {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "an address configuration",
        keys: &["ip", "gw", "ip6", "gw6"],
        kinds: &[("ip", Kind::Ip), ("gw", Kind::Ip), ("ip6", Kind::Ip), ("gw6", Kind::Ip)],
        first: &["ip", "gw", "ip6", "gw6"],
        ..Grammar::PLAIN
    };

    /// The fixed addresses: none for `dhcp` and `auto`.
    #[must_use]
    pub fn fixed(&self) -> Vec<IpAddr> {
        static_addresses(self.get("ip"), self.get("ip6"))
    }
}

/// The addresses among these two values that are addresses with a prefix length.
pub(crate) fn static_addresses(ip: Option<&str>, ip6: Option<&str>) -> Vec<IpAddr> {
    [ip, ip6]
        .into_iter()
        .flatten()
        .filter_map(|text| text.parse::<IpNet>().ok())
        .map(|net| net.addr())
        .collect()
}
