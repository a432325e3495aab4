//! Which addresses may never be taken, and which of several is taken.

use std::cmp::Reverse;
use std::net::IpAddr;

use super::policy::{Family, Policy};
use super::report::Interface;
use crate::MacAddress;

/// Why an address is not one to reach a guest by from elsewhere, whatever interface has it.
pub(super) fn unusable(ip: IpAddr) -> Option<&'static str> {
    if ip.is_loopback() {
        return Some("loopback");
    }
    if ip.is_unspecified() {
        return Some("unspecified");
    }
    if ip.is_multicast() {
        return Some("multicast");
    }
    match ip {
        IpAddr::V4(ip) if ip.is_link_local() => Some("link-local"),
        IpAddr::V4(ip) if ip.is_broadcast() || ip.octets()[0] == 0 || ip.octets()[0] >= 240 => {
            Some("reserved")
        }
        IpAddr::V6(ip) if ip.segments()[0] & 0xffc0 == 0xfe80 => Some("link-local"),
        _ => None,
    }
}

/// Why the policy leaves an address out.
pub(super) fn left_out(ip: IpAddr, policy: &Policy) -> Option<&'static str> {
    if policy.exclude.iter().any(|net| net.contains(&ip)) {
        return Some("in an excluded network");
    }
    let wanted = policy.networks.is_empty() || policy.networks.iter().any(|net| net.contains(&ip));
    (!wanted).then_some("in none of the wanted networks")
}

/// An address that may be taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<'a> {
    pub(super) ip: IpAddr,
    pub(super) prefix: Option<u8>,
    pub(super) interface: &'a Interface,
}

/// What of candidates is compared: the smallest is taken.
pub(super) type Class = (bool, bool, Reverse<bool>, u8);

/// What an address is like. Several of the least class on one interface are equals, of which any will
/// do; on two interfaces nobody knows which one leads here.
pub(super) fn class(
    candidate: &Candidate<'_>,
    siblings: &[&Interface],
    mac: MacAddress,
    fixed: &[IpAddr],
    prefer: Family,
) -> Class {
    let Candidate { ip, prefix, interface } = *candidate;
    let host = if ip.is_ipv4() { 32 } else { 128 };
    let stable = match ip {
        // A single-host prefix on IPv4 is an address added beside the main one.
        IpAddr::V4(_) => u8::from(prefix == Some(host)),
        IpAddr::V6(ip) => {
            let segments = ip.segments();
            if interface_id(mac) == segments[4..] {
                0
            } else if prefix == Some(host) || segments[4..6] == [0, 0] {
                // By DHCPv6 or by hand: it does not change by itself, as temporary ones do.
                1
            } else {
                2
            }
        }
    };
    let is_fixed = fixed.contains(&ip);
    (
        is_child(interface, siblings) && !is_fixed,
        ip.is_ipv4() != (prefer == Family::Ipv4),
        Reverse(is_fixed),
        stable,
    )
}

/// The lower half of the address that SLAAC makes of a MAC.
fn interface_id(mac: MacAddress) -> [u16; 4] {
    let [a, b, c, d, e, f] = mac.octets();
    [
        u16::from_be_bytes([a ^ 2, b]),
        u16::from_be_bytes([c, 0xff]),
        u16::from_be_bytes([0xfe, d]),
        u16::from_be_bytes([e, f]),
    ]
}

/// Whether an interface stands on another one with the same MAC, as a VLAN does. The kernel does
/// not say so here; the usual ways of naming do. It only orders interfaces that share the MAC.
fn is_child(interface: &Interface, siblings: &[&Interface]) -> bool {
    let name = interface.name.as_str();
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let of_sibling = siblings.iter().any(|parent| {
        let rest = name.strip_prefix(parent.name.as_str()).unwrap_or_default();
        !parent.name.is_empty() && rest.starts_with(['.', ':', '@'])
    });
    of_sibling
        || name.rsplit_once('.').is_some_and(|(_, id)| digits(id))
        || name.strip_prefix("vlan").is_some_and(digits)
}
