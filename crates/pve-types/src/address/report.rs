//! What a guest says about its interfaces, in the two shapes that PVE has for it.

use std::net::IpAddr;

use serde::de::IgnoredAny;
use serde::{Deserialize, Deserializer};

use crate::MacAddress;

/// The interfaces of a guest: the answer of `agent/network-get-interfaces` for a VM or of
/// `interfaces` for a container. An entry that makes no sense is passed over; it must not hide the
/// others.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Report {
    /// The interfaces in the order of the answer, which means nothing.
    pub interfaces: Vec<Interface>,
}

/// One interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interface {
    /// The guest's name for it.
    pub name: String,
    /// Its MAC address; tunnels have none.
    pub mac: Option<MacAddress>,
    /// Its addresses with their prefix lengths, if said.
    pub addresses: Vec<(IpAddr, Option<u8>)>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Shape {
    Wrapped { result: Vec<Entry> },
    List(Vec<Entry>),
    Nothing(IgnoredAny),
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Interface(Box<RawInterface>),
    Nonsense(IgnoredAny),
}

#[derive(Deserialize)]
struct RawInterface {
    #[serde(default)]
    name: String,
    #[serde(rename = "hardware-address")]
    hardware_address: Option<String>,
    hwaddr: Option<String>,
    #[serde(rename = "ip-addresses")]
    ip_addresses: Option<Vec<EntryAddress>>,
    inet: Option<String>,
    inet6: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum EntryAddress {
    Address(RawAddress),
    Nonsense(IgnoredAny),
}

#[derive(Deserialize)]
struct RawAddress {
    #[serde(rename = "ip-address")]
    ip_address: String,
    #[serde(default, deserialize_with = "crate::lenient::optional_text")]
    prefix: Option<String>,
}

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = match Shape::deserialize(deserializer)? {
            Shape::Wrapped { result } => result,
            Shape::List(list) => list,
            Shape::Nothing(_) => Vec::new(),
        };
        let interfaces = entries
            .into_iter()
            .filter_map(|entry| match entry {
                Entry::Interface(raw) => Some(Interface::from(*raw)),
                Entry::Nonsense(_) => None,
            })
            .collect();
        Ok(Self { interfaces })
    }
}

impl From<RawInterface> for Interface {
    fn from(raw: RawInterface) -> Self {
        let mac = [raw.hardware_address, raw.hwaddr]
            .into_iter()
            .flatten()
            .find_map(|text| text.parse::<MacAddress>().ok())
            .filter(|mac| !mac.is_zero());
        let mut addresses: Vec<(IpAddr, Option<u8>)> = raw
            .ip_addresses
            .unwrap_or_default()
            .into_iter()
            .filter_map(|entry| match entry {
                EntryAddress::Address(raw) => {
                    let prefix = raw.prefix.as_deref().and_then(|text| text.trim().parse().ok());
                    read(&raw.ip_address).map(|(ip, given)| (ip, given.or(prefix)))
                }
                EntryAddress::Nonsense(_) => None,
            })
            .collect();
        // A container's answer says the same twice, and older ones only here.
        for text in [raw.inet, raw.inet6].into_iter().flatten() {
            for (ip, prefix) in text.split([',', ' ']).filter_map(read) {
                if !addresses.iter().any(|(known, _)| *known == ip) {
                    addresses.push((ip, prefix));
                }
            }
        }
        Self { name: raw.name, mac, addresses }
    }
}

/// `10.0.0.5`, `10.0.0.5/24`, `fe80::1%eth0`; an IPv4 address written as IPv6 is the former.
fn read(text: &str) -> Option<(IpAddr, Option<u8>)> {
    let (address, prefix) = match text.trim().split_once('/') {
        Some((address, prefix)) => (address, prefix.parse().ok()),
        None => (text.trim(), None),
    };
    let address = address.split('%').next().unwrap_or(address);
    Some((address.parse::<IpAddr>().ok()?.to_canonical(), prefix))
}
