//! Names and addresses of a lab's network. Pure, but for its own file.

use std::fs;
use std::net::Ipv4Addr;
use std::path::Path;

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Where the search for free subnets starts: below 10.77 for labs that are driven by hand, whose
/// specs may name addresses, and apart from them for those of tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pool {
    /// 10.77.0.0/24 first, then upwards.
    Labs,
    /// From 10.78.0.0/24 upwards, starting at this one.
    Tests(u8),
}

impl Pool {
    /// The pool for tests, from a place that differs between processes.
    pub fn tests() -> Self {
        Self::Tests(std::process::id().to_le_bytes()[0])
    }
}

/// One bridge and its subnet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Bridge {
    /// The bridge's name, `vmbr0`.
    pub name: String,
    /// The first three numbers of its subnet, `10.77.0`.
    pub subnet: String,
}

impl Bridge {
    /// The address of the gateway, which is also the name server and the package server.
    pub fn gateway(&self) -> String {
        format!("{}.1", self.subnet)
    }

    /// The gateway's address in IPv6.
    pub fn gateway6(&self) -> String {
        let parts: Vec<&str> = self.subnet.split('.').collect();
        format!("fd77:{}::1", parts.join(":"))
    }

    /// The gateway's MAC address.
    pub fn mac(&self) -> String {
        let parts: Vec<u8> = self.subnet.split('.').filter_map(|n| n.parse().ok()).collect();
        let hex: Vec<String> = parts.iter().map(|n| format!("{n:02x}")).collect();
        format!("02:fe:{}:01", hex.join(":"))
    }

    /// The address of the host's end, from which guests are reached.
    pub fn controller(&self) -> String {
        format!("{}.254", self.subnet)
    }

    /// An address in the subnet.
    pub fn address(&self, last: u8) -> String {
        format!("{}.{last}", self.subnet)
    }
}

/// A network's names and addresses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Plan {
    /// The name of the namespace.
    pub name: String,
    /// The bridges.
    pub bridges: Vec<Bridge>,
}

impl Plan {
    /// Chooses subnets that meet none of those given as address and prefix length.
    pub(super) fn choose(
        name: &str,
        bridges: &[String],
        pool: Pool,
        taken: &[(Ipv4Addr, u32)],
    ) -> Result<Self> {
        let (second, first) = match pool {
            Pool::Labs => (77, 0),
            Pool::Tests(first) => (78, first),
        };
        let mut free = (0..=255u8)
            .map(|n| first.wrapping_add(n))
            .filter(|third| !taken.iter().any(|net| meets(*net, [10, second, *third])));
        let bridges = bridges
            .iter()
            .map(|name| {
                Some(Bridge { name: name.clone(), subnet: format!("10.{second}.{}", free.next()?) })
            })
            .collect::<Option<_>>()
            .context("no subnet is free for the lab's bridges")?;
        Ok(Self { name: name.to_owned(), bridges })
    }

    /// The bridges' names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.bridges.iter().map(|b| b.name.as_str())
    }

    /// The bridge of this name.
    pub fn bridge(&self, name: &str) -> Option<&Bridge> {
        self.bridges.iter().find(|b| b.name == name)
    }

    pub(super) fn read(path: &Path) -> Option<Self> {
        serde_json::from_str(&fs::read_to_string(path).ok()?).ok()
    }

    pub(super) fn write(&self, path: &Path) -> Result<()> {
        fs::write(path, serde_json::to_string_pretty(self)?)
            .with_context(|| format!("cannot write {}", path.display()))
    }
}

/// Whether a network and a /24 have an address in common.
fn meets((address, bits): (Ipv4Addr, u32), subnet: [u8; 3]) -> bool {
    let own = Ipv4Addr::new(subnet[0], subnet[1], subnet[2], 0).to_bits();
    let mask = u32::MAX.checked_shl(32 - bits.clamp(1, 24)).unwrap_or(u32::MAX);
    (address.to_bits() & mask) == (own & mask)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn subnets(pool: Pool, taken: &[(&str, u32)]) -> Vec<String> {
        let taken: Vec<_> =
            taken.iter().map(|(a, bits)| (a.parse().expect("an address"), *bits)).collect();
        let bridges = ["vmbr0".to_owned(), "vmbr1".to_owned()];
        let plan = Plan::choose("lab", &bridges, pool, &taken).expect("free subnets");
        plan.bridges.into_iter().map(|b| b.subnet).collect()
    }

    #[test]
    fn chooses_subnets_that_are_free() {
        type Row = (&'static str, Pool, &'static [(&'static str, u32)], [&'static str; 2]);
        let rows: [Row; 5] = [
            ("alone", Pool::Labs, &[], ["10.77.0", "10.77.1"]),
            ("beside a lab", Pool::Labs, &[("10.77.0.254", 24)], ["10.77.1", "10.77.2"]),
            ("a route to one host", Pool::Labs, &[("10.77.1.9", 32)], ["10.77.0", "10.77.2"]),
            ("a wide route", Pool::Labs, &[("10.77.0.0", 17)], ["10.77.128", "10.77.129"]),
            (
                "tests wrap around",
                Pool::Tests(255),
                &[("10.77.0.254", 24)],
                ["10.78.255", "10.78.0"],
            ),
        ];
        for (name, pool, taken, expected) in rows {
            assert_eq!(subnets(pool, taken), expected, "{name}");
        }
    }

    #[test]
    fn a_subnet_names_the_gateway() {
        let bridge = Bridge { name: "vmbr0".to_owned(), subnet: "10.77.12".to_owned() };
        assert_eq!(bridge.gateway(), "10.77.12.1");
        assert_eq!(bridge.gateway6(), "fd77:10:77:12::1");
        assert_eq!(bridge.controller(), "10.77.12.254");
        assert_eq!(bridge.mac(), "02:fe:0a:4d:0c:01");
    }

    #[test]
    fn says_when_all_are_taken() {
        let error = Plan::choose(
            "lab",
            &["vmbr0".to_owned()],
            Pool::Labs,
            &[(Ipv4Addr::new(10, 0, 0, 0), 8)],
        )
        .expect_err("10.0.0.0/8 covers all");
        assert_eq!(error.to_string(), "no subnet is free for the lab's bridges");
    }
}
