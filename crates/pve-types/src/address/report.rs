//! What a guest says about its interfaces, in the two shapes that PVE has for it.

use std::net::IpAddr;

use serde::de::{Error as _, IgnoredAny};
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
    Refused(Refused),
    WrappedRefusal { result: Refused },
    Nothing(IgnoredAny),
}

/// PVE hands on an agent's refusal as if it were the answer.
#[derive(Deserialize)]
struct Refused {
    error: Refusal,
}

#[derive(Deserialize)]
struct Refusal {
    #[serde(default, deserialize_with = "if_it_fits")]
    class: Option<String>,
    #[serde(default, deserialize_with = "if_it_fits")]
    desc: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Perhaps<T> {
    Fits(T),
    Nonsense(IgnoredAny),
}

/// A value of another type than it should be hides nothing else of its interface: without the NIC an
/// address of a VLAN on it would be taken.
fn if_it_fits<'de, D: Deserializer<'de>, T: Deserialize<'de>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    Ok(match Perhaps::deserialize(deserializer)? {
        Perhaps::Fits(value) => Some(value),
        Perhaps::Nonsense(_) => None,
    })
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Interface(Box<RawInterface>),
    Nonsense(IgnoredAny),
}

#[derive(Deserialize)]
struct RawInterface {
    #[serde(default, deserialize_with = "if_it_fits")]
    name: Option<String>,
    #[serde(default, rename = "hardware-address", deserialize_with = "if_it_fits")]
    hardware_address: Option<String>,
    #[serde(default, deserialize_with = "if_it_fits")]
    hwaddr: Option<String>,
    #[serde(default, rename = "ip-addresses", deserialize_with = "if_it_fits")]
    ip_addresses: Option<Vec<EntryAddress>>,
    #[serde(default, deserialize_with = "if_it_fits")]
    inet: Option<String>,
    #[serde(default, deserialize_with = "if_it_fits")]
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
    #[serde(default, deserialize_with = "prefix")]
    prefix: Option<String>,
}

/// A prefix length, which is a number or a text; what is neither is none.
fn prefix<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    Ok(if_it_fits::<D, Scalar>(deserializer)?.and_then(|scalar| scalar.0))
}

#[derive(Deserialize)]
struct Scalar(#[serde(deserialize_with = "crate::lenient::optional_text")] Option<String>);

impl<'de> Deserialize<'de> for Report {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let entries = match Shape::deserialize(deserializer)? {
            Shape::Wrapped { result } => result,
            Shape::List(list) => list,
            Shape::Refused(refused) | Shape::WrappedRefusal { result: refused } => {
                let Refusal { class, desc } = refused.error;
                let why = desc.or(class).unwrap_or_else(|| "it gives no reason".to_owned());
                return Err(D::Error::custom(format!("the agent refuses to tell: {why}")));
            }
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
        Self { name: raw.name.unwrap_or_default(), mac, addresses }
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
