//! Names that Ansible can carry: for groups, for hosts, and never the same for both.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use crate::guest::Key;

/// What Ansible means something else by.
const RESERVED: [&str; 6] = ["all", "ungrouped", "localhost", "127.0.0.1", "::1", "_meta"];

/// What `/etc/hosts` calls the control node on one system or another, beside `localhost`.
const LOCAL: [&str; 8] = [
    "localhost",
    "localhost.localdomain",
    "localhost4",
    "localhost4.localdomain4",
    "localhost6",
    "localhost6.localdomain6",
    "ip6-localhost",
    "ip6-loopback",
];

/// Whether Ansible means something else by this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
}

/// Whether a host without an address would be looked for somewhere that its name alone decides: at
/// the control node (`localhost4`, `ip6-localhost`, `x.localhost`), or at the address that the name is
/// a form of (`10.0.0.9`, `127.1`, `0x7f000001`, `2130706433`), which may be another machine's.
fn leads_elsewhere(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_end_matches('.');
    let number = |label: &str| {
        let digits = label.strip_prefix("0x");
        match digits {
            Some(digits) => digits.chars().all(|c| c.is_ascii_hexdigit()),
            None => !label.is_empty() && label.chars().all(|c| c.is_ascii_digit()),
        }
    };
    // a short number alone is a name that people give, and no address that anything has
    let address = name.split('.').all(number)
        && (name.contains(['.', 'x']) || name.parse::<u64>().is_ok_and(|n| n >= 1 << 24));
    address || name.ends_with(".localhost") || LOCAL.contains(&name)
}

/// A group's name: a prefix that is one already, and a text made safe.
pub(crate) fn group(prefix: &str, text: &str) -> String {
    let safe = text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' });
    format!("{prefix}{}", safe.collect::<String>())
}

/// Whether a person's group name is one that Ansible takes without a warning.
pub(crate) fn is_group(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether this can be a variable.
pub(crate) fn is_variable(name: &str) -> bool {
    is_group(name)
}

/// Whether this can be the name of a guest, and so of a spec.
pub(crate) fn is_guest(name: &str) -> bool {
    let label = |label: &str| {
        let edge = |c: char| c.is_ascii_alphanumeric();
        label.starts_with(edge)
            && label.ends_with(edge)
            && label.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
    };
    name.len() <= 253 && name.split('.').all(label) && !is_reserved(name)
}

/// A text as far as it can be part of a host's name. What patterns, ranges and ports are written
/// with is not.
fn safe(text: &str) -> String {
    let safe: String = text
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' })
        .collect();
    // a leading dash would be an option, and a leading dot or underscore hides
    safe.trim_start_matches(['-', '.', '_']).to_owned()
}

/// What hosts are called by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pattern {
    /// The guest's name.
    Name,
    /// Its name and number: `web-101`.
    NameVmid,
    /// Its name with the domain that its configuration has.
    Fqdn,
    /// Its number.
    Vmid,
}

/// Each pattern with its word.
const PATTERNS: [(&str, Pattern); 4] = [
    ("name", Pattern::Name),
    ("name-vmid", Pattern::NameVmid),
    ("fqdn", Pattern::Fqdn),
    ("vmid", Pattern::Vmid),
];

impl FromStr for Pattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let known = PATTERNS.iter().find(|(word, _)| *word == text);
        known
            .map(|(_, pattern)| *pattern)
            .ok_or_else(|| format!("hostname is '{text}': say name, name-vmid, fqdn or vmid"))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = PATTERNS.iter().find(|(_, pattern)| pattern == self);
        f.write_str(known.map(|(word, _)| *word).unwrap_or_default())
    }
}

/// What a host's name is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// Which cluster, and the guest's number there; unique.
    pub(crate) key: Key,
    /// What the cluster is called, if it has a name.
    pub(crate) cluster: Option<String>,
    /// The guest's kind, for a guest without a name.
    pub(crate) kind: &'static str,
    /// Its name, if it is known.
    pub(crate) name: Option<String>,
    /// The domain that its configuration has.
    pub(crate) domain: Option<String>,
    /// The name that its spec gives it, which no other guest can have.
    pub(crate) fixed: Option<String>,
}

impl Wanted {
    /// Its name by a pattern, then what it is called when something else is called so.
    fn candidates(&self, pattern: Pattern) -> Vec<String> {
        let vmid = self.key.1;
        let name = self.name.as_deref().map(safe).filter(|name| !name.is_empty());
        let (first, numbered) = match (pattern, name) {
            (Pattern::Vmid, _) => (vmid.to_string(), true),
            (_, None) => (format!("{}-{vmid}", self.kind), true),
            (Pattern::NameVmid, Some(name)) => (format!("{name}-{vmid}"), true),
            (Pattern::Name, Some(name)) => (name, false),
            (Pattern::Fqdn, Some(name)) => match self.domain.as_deref().map(safe) {
                Some(domain) if !domain.is_empty() && !name.contains('.') => {
                    (format!("{name}.{domain}"), false)
                }
                _ => (name, false),
            },
        };
        let mut names = vec![first];
        let mut more = |suffix: &str| {
            let last = names.last().cloned().unwrap_or_default();
            names.push(format!("{last}-{suffix}"));
        };
        if !numbered {
            more(&vmid.to_string());
        }
        if let Some(cluster) = &self.cluster {
            more(cluster);
        }
        more(&vmid.to_string());
        names
    }
}

/// One name for each guest. A name that two guests have, that is a group's or a spec's, or that
/// Ansible means something else by, gets the vmid behind it, and the cluster's name if that is not
/// enough. The order of the guests does not matter.
pub(crate) fn hosts(
    wanted: &[Wanted],
    taken: &BTreeSet<String>,
    pattern: Pattern,
) -> BTreeMap<Key, String> {
    // a number that was asked for stays one
    let is_free =
        |name: &str| !is_reserved(name) && (pattern == Pattern::Vmid || !leads_elsewhere(name));
    let mut used = taken.clone();
    let mut named = BTreeMap::new();
    let mut rest: BTreeMap<Key, std::vec::IntoIter<String>> = BTreeMap::new();
    for guest in wanted {
        match &guest.fixed {
            Some(fixed) => {
                used.insert(fixed.clone());
                named.insert(guest.key, fixed.clone());
            }
            None => {
                rest.insert(guest.key, guest.candidates(pattern).into_iter());
            }
        }
    }
    // those whose name is theirs alone come first, so that no suffix takes it from them
    while !rest.is_empty() {
        let tried: BTreeMap<Key, String> =
            rest.iter_mut().map(|(key, names)| (*key, names.next().unwrap_or_default())).collect();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for name in tried.values() {
            *counts.entry(name).or_default() += 1;
        }
        for (key, name) in &tried {
            let alone = counts[name.as_str()] == 1 && !used.contains(name) && is_free(name);
            let last = rest.get(key).is_none_or(|names| names.as_slice().is_empty());
            if alone {
                used.insert(name.clone());
                named.insert(*key, name.clone());
                rest.remove(key);
            } else if last {
                let mut name = name.clone();
                while used.contains(&name) || !is_free(&name) {
                    name = format!("{name}-{}", key.1);
                }
                used.insert(name.clone());
                named.insert(*key, name);
                rest.remove(key);
            }
        }
    }
    named
}

/// The names of nodes, which are theirs alone: they come before those of guests.
pub(crate) fn nodes<'a>(
    nodes: impl Iterator<Item = (&'a str, Option<&'a str>)>,
    taken: &BTreeSet<String>,
) -> Vec<String> {
    let is_free = |name: &str| !is_reserved(name) && !leads_elsewhere(name);
    let mut used = taken.clone();
    nodes
        .map(|(name, cluster)| {
            let mut name = safe(name);
            let mut suffixes = ["node"].into_iter().chain(cluster);
            while name.is_empty() || used.contains(&name) || !is_free(&name) {
                name = format!("{name}-{}", suffixes.next().unwrap_or("node"));
            }
            used.insert(name.clone());
            name
        })
        .collect()
}

#[cfg(test)]
mod tests;
