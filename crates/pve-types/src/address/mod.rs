//! Chooses a guest's address. Only a MAC decides: names of interfaces differ between images, their
//! order means nothing, and bridges made inside the guest report addresses too.
//!
//! | question | rule |
//! | --- | --- |
//! | which NIC | the lowest-numbered `netN` of the running configuration, or the one that `net` names |
//! | which interface | every one whose MAC address is that NIC's, whatever the case and the separators: the NIC itself, a bridge or bond over it, a VLAN on it |
//! | two NICs with one MAC address | ambiguous: no address |
//! | never taken | link-local, loopback, multicast, unspecified and reserved addresses; anything on an interface with another MAC address or with none |
//! | left out | addresses in `exclude_networks`; if `networks` is given, those outside of it |
//! | several interfaces | the NIC, bridge or bond before a VLAN on it (`eth0.30`, `vlan30`); if two of one kind have different addresses: ambiguous, no address, unless `ipconfigN` gives one of them |
//! | several families | IPv4 before IPv6, or as `prefer` says |
//! | several addresses | the one that `ipconfigN` (a container's `netN`) gives; then, for IPv4, one whose prefix is not `/32`; for IPv6 the one made of the MAC address, then one by DHCPv6 or by hand, then the rest (temporary ones among them); then the lowest |
//! | the guest says nothing | the fixed address that `ipconfigN` (a container's `netN`) gives, marked `configured`; else none, with the reason. A template has none |
//! | the guest answers, but without a usable address | none, with the reason: a configured address is not used against what the guest says |

mod policy;
mod rank;
mod report;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::IpAddr;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use policy::{Family, NetSlot, Policy};
pub use report::{Interface, Report};

use crate::property::{IpConfig, LxcNet, NetDevice};
use crate::{GuestKind, MacAddress};
use rank::Candidate;

/// An address and how it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Address {
    /// The address.
    pub ip: IpAddr,
    /// How it is known.
    pub source: Source,
    /// Why it is only configured and not observed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unobserved: Option<Reason>,
}

/// How an address is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The guest agent says so.
    Agent,
    /// The container's interfaces show it.
    Interfaces,
    /// The configuration gives it; it was not observed.
    Configured,
}

/// Why there is no address, for programs and for people.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Reason {
    /// One word that does not change.
    pub kind: ReasonKind,
    /// A sentence that names the operands.
    pub text: String,
}

/// Why there is no address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReasonKind {
    /// The guest has no NIC, or not the one that was named.
    NoNic,
    /// The NIC has no MAC address yet.
    NoMac,
    /// Several NICs have the MAC address that decides.
    Ambiguous,
    /// The guest does not run.
    NotRunning,
    /// The guest is a template.
    Template,
    /// The agent is off in the guest's configuration.
    AgentOff,
    /// The agent does not answer.
    AgentSilent,
    /// The caller may not ask.
    Forbidden,
    /// The node is too old to be asked.
    Unsupported,
    /// The question failed otherwise.
    Failed,
    /// No interface has the MAC address.
    NoInterface,
    /// The interface has no address that can be used yet.
    NoAddress,
    /// The policy leaves out every address that there is.
    LeftOut,
}

impl Reason {
    /// A reason with its sentence.
    pub fn new(kind: ReasonKind, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}

/// What is known about a guest.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// What kind of guest it is.
    pub kind: GuestKind,
    /// The configuration that it runs with, not the pending one.
    pub config: &'a BTreeMap<String, String>,
    /// What it says about its interfaces, or why it says nothing.
    pub report: Result<&'a Report, &'a Reason>,
}

/// How the choice came about.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Explanation {
    /// The NIC that decided.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nic: Option<NetSlot>,
    /// Its MAC address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mac: Option<MacAddress>,
    /// The interfaces with that MAC address.
    pub matched: Vec<String>,
    /// What was not taken, and why.
    pub discarded: Vec<Discarded>,
}

/// An interface or one of its addresses that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Discarded {
    /// The interface.
    pub interface: String,
    /// The address, unless it is the interface as a whole.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub address: Option<IpAddr>,
    /// Why it was not taken.
    pub why: String,
}

/// The address to reach a guest by.
///
/// # Errors
/// Why there is none.
pub fn address(known: Known<'_>, policy: &Policy) -> Result<Address, Reason> {
    explain(known, policy).0
}

/// The address to reach a guest by, and how the choice came about.
pub fn explain(known: Known<'_>, policy: &Policy) -> (Result<Address, Reason>, Explanation) {
    let mut explanation =
        Explanation { nic: None, mac: None, matched: Vec::new(), discarded: Vec::new() };
    let outcome = choose(known, policy, &mut explanation);
    (outcome, explanation)
}

fn choose(
    known: Known<'_>,
    policy: &Policy,
    explanation: &mut Explanation,
) -> Result<Address, Reason> {
    let nics = nics(known);
    let slot = match policy.net {
        Some(slot) if nics.contains_key(&slot) => slot,
        Some(slot) => {
            return Err(Reason::new(ReasonKind::NoNic, format!("the guest has no {slot}")));
        }
        None => *nics
            .keys()
            .next()
            .ok_or_else(|| Reason::new(ReasonKind::NoNic, "the guest has no NIC"))?,
    };
    explanation.nic = Some(slot);
    let mac = nics.get(&slot).copied().flatten();
    explanation.mac = mac;
    let fixed = fixed(known, slot);
    let report = match known.report {
        Ok(report) => report,
        // its clones have the same settings, and may be what answers there
        Err(reason) if reason.kind == ReasonKind::Template => return Err(reason.clone()),
        Err(reason) => return configured(&fixed, policy, reason),
    };
    let mac = mac
        .ok_or_else(|| Reason::new(ReasonKind::NoMac, format!("{slot} has no MAC address yet")))?;
    let same: Vec<String> = nics
        .iter()
        .filter(|(_, other)| **other == Some(mac))
        .map(|(slot, _)| slot.to_string())
        .collect();
    if same.len() > 1 {
        return Err(Reason::new(
            ReasonKind::Ambiguous,
            format!("{} have the same MAC address {mac}", same.join(" and ")),
        ));
    }
    let ip = observed(report, slot, mac, &fixed, policy, explanation)?;
    let source = match known.kind {
        GuestKind::Qemu => Source::Agent,
        GuestKind::Lxc => Source::Interfaces,
    };
    Ok(Address { ip, source, unobserved: None })
}

/// Every NIC with its MAC address, in the order of their numbers.
fn nics(known: Known<'_>) -> BTreeMap<NetSlot, Option<MacAddress>> {
    known
        .config
        .iter()
        .filter_map(|(key, line)| {
            let slot = key.parse::<NetSlot>().ok()?;
            let mac = match known.kind {
                GuestKind::Qemu => NetDevice::new(line).mac(),
                GuestKind::Lxc => LxcNet::new(line).mac(),
            };
            Some((slot, mac))
        })
        .collect()
}

/// The fixed addresses that the configuration gives a NIC.
fn fixed(known: Known<'_>, slot: NetSlot) -> Vec<IpAddr> {
    let of = |key: String| known.config.get(&key).map(String::as_str).unwrap_or_default();
    match known.kind {
        GuestKind::Qemu => IpConfig::new(of(format!("ipconfig{}", slot.0))).fixed(),
        GuestKind::Lxc => {
            let net = LxcNet::new(of(slot.to_string()));
            crate::property::static_addresses(net.get("ip"), net.get("ip6"))
        }
    }
}

fn configured(fixed: &[IpAddr], policy: &Policy, reason: &Reason) -> Result<Address, Reason> {
    let mut usable: Vec<IpAddr> = fixed
        .iter()
        .copied()
        .filter(|ip| rank::unusable(*ip).is_none() && rank::left_out(*ip, policy).is_none())
        .collect();
    usable.sort_by_key(|ip| (ip.is_ipv4() != (policy.prefer == Family::Ipv4), *ip));
    match usable.first() {
        Some(ip) => {
            Ok(Address { ip: *ip, source: Source::Configured, unobserved: Some(reason.clone()) })
        }
        None => Err(reason.clone()),
    }
}

fn observed(
    report: &Report,
    slot: NetSlot,
    mac: MacAddress,
    fixed: &[IpAddr],
    policy: &Policy,
    explanation: &mut Explanation,
) -> Result<IpAddr, Reason> {
    let mut discard = |interface: &Interface, address, why: &str| {
        explanation.discarded.push(Discarded {
            interface: interface.name.clone(),
            address,
            why: why.to_owned(),
        });
    };
    let mut matched = Vec::new();
    for interface in &report.interfaces {
        match interface.mac {
            Some(its) if its == mac => matched.push(interface),
            Some(_) => discard(interface, None, "has another MAC address"),
            None => discard(interface, None, "has no MAC address"),
        }
    }
    let mut candidates = Vec::new();
    let mut left_out = false;
    for &interface in &matched {
        for &(ip, prefix) in &interface.addresses {
            if let Some(why) = rank::unusable(ip) {
                discard(interface, Some(ip), why);
            } else if let Some(why) = rank::left_out(ip, policy) {
                left_out = true;
                discard(interface, Some(ip), why);
            } else {
                candidates.push(Candidate { ip, prefix, interface });
            }
        }
    }
    let class =
        |candidate: &Candidate<'_>| rank::class(candidate, &matched, mac, fixed, policy.prefer);
    let best = candidates.iter().map(class).min();
    let mut equals: Vec<&Candidate<'_>> =
        candidates.iter().filter(|candidate| Some(class(candidate)) == best).collect();
    equals.sort_by_key(|candidate| (candidate.ip, &candidate.interface.name));
    let first = equals.first();
    let has_all = |interface: &Interface| {
        equals.iter().all(|one| interface.addresses.iter().any(|(ip, _)| *ip == one.ip))
    };
    let ambiguous = first.filter(|_| !equals.iter().any(|one| has_all(one.interface))).map(|first| {
        // by addresses alone: of two interfaces with one name the order of the report would tell
        let has = |interface: &Interface, one: &Candidate<'_>| {
            interface.addresses.iter().any(|(ip, _)| *ip == one.ip)
        };
        let elsewhere = |one: &&&Candidate<'_>| {
            matched.iter().any(|interface| has(interface, first) && !has(interface, one))
        };
        let both: Vec<String> = [Some(first), equals.iter().find(elsewhere)]
            .into_iter()
            .flatten()
            .map(|one| format!("{} on {}", one.ip, one.interface.name))
            .collect();
        let text = format!(
            "{} have {slot}'s MAC address and say nothing of which one leads to the guest: give the \
             one that does by networks or ipconfig{}",
            both.join(" and "),
            slot.0
        );
        Reason::new(ReasonKind::Ambiguous, text)
    });
    let chosen = first.map(|candidate| candidate.ip).filter(|_| ambiguous.is_none());
    for candidate in &candidates {
        if Some(candidate.ip) != chosen {
            let why = if chosen.is_some() { "another one goes before it" } else { "ambiguous" };
            discard(candidate.interface, Some(candidate.ip), why);
        }
    }
    let mut names: Vec<String> = matched.iter().map(|interface| interface.name.clone()).collect();
    names.sort();
    explanation.matched = names;
    explanation.discarded.sort_by(|a, b| (&a.interface, a.address).cmp(&(&b.interface, b.address)));
    if let Some(ambiguous) = ambiguous {
        return Err(ambiguous);
    }
    chosen.ok_or_else(|| {
        if matched.is_empty() {
            let text = format!("no interface of the guest has {slot}'s MAC address {mac}");
            return Reason::new(ReasonKind::NoInterface, text);
        }
        if left_out {
            let text = format!("every address of {slot} is left out by the networks given");
            return Reason::new(ReasonKind::LeftOut, text);
        }
        Reason::new(ReasonKind::NoAddress, format!("{slot} has no usable address yet"))
    })
}
