//! Which groups a host is in. Every group is there as an object with hosts: an empty object would
//! become a host, and a playbook may name the fixed ones before any guest exists.

use std::collections::{BTreeMap, BTreeSet};

use crate::fetch::Fetched;
use crate::guest::Guest;
use crate::names;

/// Groups that are always there, empty if need be.
const ALWAYS: [&str; 7] =
    ["guests", "qemu", "lxc", "address_missing", "specs", "managed", "destroy"];

/// Groups and the hosts in them.
#[derive(Debug)]
pub(crate) struct Groups<'a> {
    prefix: &'a str,
    hosts: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Groups<'a> {
    pub(crate) fn new(prefix: &'a str) -> Self {
        let hosts =
            ALWAYS.iter().map(|name| (format!("{prefix}{name}"), BTreeSet::new())).collect();
        Self { prefix, hosts }
    }

    /// Puts a host into a group of this inventory's own, without its prefix.
    pub(crate) fn add_own(&mut self, group: &str, host: &str) {
        self.add(format!("{}{group}", self.prefix), host);
    }

    /// Puts a host into a group.
    pub(crate) fn add(&mut self, group: impl Into<String>, host: &str) {
        self.hosts.entry(group.into()).or_default().insert(host.to_owned());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&String, &BTreeSet<String>)> {
        self.hosts.iter()
    }
}

/// The groups of a guest, from what the cluster says about it; without the prefix.
pub(crate) fn of(guest: &Guest, cluster: Option<&str>) -> Vec<String> {
    let mut groups = vec![
        "guests".to_owned(),
        guest.kind.as_str().to_owned(),
        names::group("status_", &guest.status),
        names::group("node_", guest.node.as_str()),
    ];
    groups.extend(cluster.map(|cluster| names::group("cluster_", cluster)));
    groups.extend(guest.pool.as_deref().map(|pool| names::group("pool_", pool)));
    groups.extend(guest.tags.iter().map(|tag| names::group("tag_", tag)));
    groups.extend(guest.ostype().map(|ostype| names::group("ostype_", ostype)));
    groups.extend(guest.ha.iter().map(|rule| names::group("ha_", rule)));
    if guest.address.is_err() {
        groups.push("address_missing".to_owned());
    }
    groups
}

/// Every group's name that this inventory will have, with those that the specs name.
pub(crate) fn names_of<'a>(
    fetched: &Fetched,
    prefix: &str,
    named: impl Iterator<Item = &'a str>,
) -> BTreeSet<String> {
    let clusters = fetched.clusters.iter().filter_map(|cluster| cluster.name.as_deref());
    let own = ALWAYS
        .iter()
        .map(|name| (*name).to_owned())
        .chain(["nodes".to_owned()])
        .chain(clusters.map(|name| names::group("cluster_", name)))
        .chain(fetched.guests.iter().flat_map(|guest| of(guest, None)));
    own.map(|name| format!("{prefix}{name}")).chain(named.map(str::to_owned)).collect()
}
