//! Which groups a host is in. Every group is there as an object with hosts: an empty object would
//! become a host, and a playbook may name the fixed ones before any guest exists.

use std::collections::{BTreeMap, BTreeSet};

use crate::guest::Guest;
use crate::names;

/// Groups that are always there, empty if need be.
const ALWAYS: [&str; 7] = [
    "pve_guests",
    "pve_qemu",
    "pve_lxc",
    "pve_address_missing",
    "pve_specs",
    "pve_managed",
    "pve_destroy",
];

/// Groups and the hosts in them.
#[derive(Debug, Default)]
pub(crate) struct Groups(BTreeMap<String, BTreeSet<String>>);

impl Groups {
    pub(crate) fn new() -> Self {
        Self(ALWAYS.iter().map(|name| ((*name).to_owned(), BTreeSet::new())).collect())
    }

    /// Puts a host into a group.
    pub(crate) fn add(&mut self, group: impl Into<String>, host: &str) {
        self.0.entry(group.into()).or_default().insert(host.to_owned());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        self.0.iter()
    }
}

/// The groups of a guest, from what the cluster says about it.
pub(crate) fn of(guest: &Guest) -> Vec<String> {
    let mut groups = vec![
        "pve_guests".to_owned(),
        names::group("pve_", guest.kind.as_str()),
        names::group("pve_status_", &guest.status),
        names::group("pve_node_", guest.node.as_str()),
    ];
    groups.extend(guest.pool.as_deref().map(|pool| names::group("pve_pool_", pool)));
    groups.extend(guest.tags.iter().map(|tag| names::group("pve_tag_", tag)));
    groups.extend(guest.ostype().map(|ostype| names::group("pve_ostype_", ostype)));
    if guest.address.is_err() {
        groups.push("pve_address_missing".to_owned());
    }
    groups
}

/// Every group's name that this inventory will have, with those that the specs name.
pub(crate) fn names_of<'a>(
    guests: &[Guest],
    named: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let always = ALWAYS.iter().map(|name| (*name).to_owned());
    always.chain(guests.iter().flat_map(of)).chain(named.map(str::to_owned)).collect()
}
