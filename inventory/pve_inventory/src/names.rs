//! Names that Ansible can carry: for groups, for hosts, and never the same for both.

use std::collections::{BTreeMap, BTreeSet};

/// What Ansible means something else by.
const RESERVED: [&str; 6] = ["all", "ungrouped", "localhost", "127.0.0.1", "::1", "_meta"];

/// Whether Ansible means something else by this name.
pub(crate) fn is_reserved(name: &str) -> bool {
    RESERVED.iter().any(|reserved| name.eq_ignore_ascii_case(reserved))
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

/// What a host's name is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Wanted {
    /// The guest's number; unique.
    pub(crate) vmid: u32,
    /// The guest's kind, for a guest without a name.
    pub(crate) kind: &'static str,
    /// Its name, if it is known.
    pub(crate) name: Option<String>,
    /// The name that its spec gives it, which no other guest can have.
    pub(crate) fixed: Option<String>,
}

/// One name for each guest. A name that two guests have, that is a group's or a spec's, or that
/// Ansible means something else by, gets the vmid behind it. The order of the guests does not
/// matter.
pub(crate) fn hosts(wanted: &[Wanted], taken: &BTreeSet<String>) -> BTreeMap<u32, String> {
    let plain: BTreeMap<u32, String> = wanted
        .iter()
        .map(|guest| {
            let name = guest.name.as_deref().map(safe).filter(|name| !name.is_empty());
            let name = name.unwrap_or_else(|| format!("{}-{}", guest.kind, guest.vmid));
            (guest.vmid, name)
        })
        .collect();
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for guest in wanted.iter().filter(|guest| guest.fixed.is_none()) {
        *counts.entry(&plain[&guest.vmid]).or_default() += 1;
    }
    let mut used = taken.clone();
    let mut named = BTreeMap::new();
    for guest in wanted {
        if let Some(fixed) = &guest.fixed {
            used.insert(fixed.clone());
            named.insert(guest.vmid, fixed.clone());
        }
    }
    let free = |name: &str, used: &BTreeSet<String>| !used.contains(name) && !is_reserved(name);
    // those whose name is theirs alone come first, so that no suffix takes it from them
    for (&vmid, name) in &plain {
        if !named.contains_key(&vmid) && counts[name.as_str()] == 1 && free(name, &used) {
            used.insert(name.clone());
            named.insert(vmid, name.clone());
        }
    }
    for (vmid, name) in plain {
        named.entry(vmid).or_insert_with(|| {
            let mut name = format!("{name}-{vmid}");
            while !free(&name, &used) {
                name = format!("{name}-{vmid}");
            }
            used.insert(name.clone());
            name
        });
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(guests: &[(u32, &str, &str)], taken: &[&str]) -> Vec<String> {
        let text = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let wanted: Vec<Wanted> = guests
            .iter()
            .map(|(vmid, name, fixed)| Wanted {
                vmid: *vmid,
                kind: "qemu",
                name: text(name),
                fixed: text(fixed),
            })
            .collect();
        let taken = taken.iter().map(|name| (*name).to_owned()).collect();
        let names = hosts(&wanted, &taken);
        let mut backwards = wanted;
        backwards.reverse();
        assert_eq!(hosts(&backwards, &taken), names, "the order of the guests does not matter");
        names.into_values().collect()
    }

    #[test]
    fn a18_guests_of_one_name_stay_apart() {
        for (guests, taken, names) in [
            (&[(100, "web", ""), (101, "db", "")][..], &[][..], &["web", "db"][..]),
            (&[(100, "web", ""), (101, "web", "")], &[], &["web-100", "web-101"]),
            (&[(100, "web", "web"), (101, "web", "")], &[], &["web", "web-101"]),
            // a name that looks like a made one is not taken from its guest
            (
                &[(100, "web", ""), (101, "web", ""), (102, "web-101", "")],
                &[],
                &["web-100", "web-101-101", "web-101"],
            ),
            (&[(100, "localhost", ""), (101, "ALL", "")], &[], &["localhost-100", "ALL-101"]),
            (
                &[(100, "web", ""), (101, "pve_guests", "")],
                &["web", "pve_guests"],
                &["web-100", "pve_guests-101"],
            ),
            (
                &[(100, "", ""), (101, "{{ 1+1 }}", ""), (102, "--limit", "")],
                &[],
                &["qemu-100", "1_1___", "limit"],
            ),
            (
                &[(100, "a:b,c[1:3]", ""), (101, "\u{2028}", ""), (102, "7up", "")],
                &[],
                &["a_b_c_1_3_", "qemu-101", "7up"],
            ),
        ] {
            assert_eq!(named(guests, taken), names, "{guests:?}");
        }
    }

    proptest::proptest! {
        #[test]
        fn any_names_become_safe_and_unique_hosts(
            names in proptest::collection::vec(
                proptest::prop_oneof!["[a-c](-10[0-4])?", "localhost|all|ungrouped|web|pve_x", ".*"],
                0..6,
            ),
        ) {
            let wanted: Vec<Wanted> = (100..)
                .zip(&names)
                .map(|(vmid, name)| Wanted { vmid, kind: "qemu", name: Some(name.clone()), fixed: None })
                .collect();
            let taken = BTreeSet::from(["web".to_owned(), "pve_x".to_owned()]);
            let hosts = hosts(&wanted, &taken);
            proptest::prop_assert_eq!(hosts.len(), names.len());
            let unique: BTreeSet<&String> = hosts.values().collect();
            proptest::prop_assert_eq!(unique.len(), names.len());
            for host in hosts.values() {
                proptest::prop_assert!(!taken.contains(host) && !is_reserved(host), "{}", host);
                proptest::prop_assert!(
                    host.starts_with(|c: char| c.is_ascii_alphanumeric())
                        && host.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
                    "{}", host
                );
            }
        }
    }

    #[test]
    fn groups_are_identifiers() {
        for (text, name) in [
            ("web", "pve_tag_web"),
            ("b-1.x", "pve_tag_b_1_x"),
            ("1st", "pve_tag_1st"),
            ("{{ x }}", "pve_tag____x___"),
            ("", "pve_tag_"),
        ] {
            assert_eq!(group("pve_tag_", text), name);
            assert!(is_group(&group("pve_tag_", text)));
        }
        for (text, right) in
            [("web", true), ("_a1", true), ("1a", false), ("a-b", false), ("", false)]
        {
            assert_eq!(is_group(text), right, "{text}");
        }
    }

    #[test]
    fn names_of_guests_are_dns_names() {
        for (text, right) in [
            ("web1", true),
            ("web1.example.org", true),
            ("web_1", false),
            ("-web", false),
            ("localhost", false),
            ("all", false),
            ("a..b", false),
            ("", false),
        ] {
            assert_eq!(is_guest(text), right, "{text}");
        }
    }
}
