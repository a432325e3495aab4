//! What each host is called.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::fetch::Fetched;
use crate::groups;
use crate::guest::Key;
use crate::names::{self, Wanted};
use crate::spec::{Binding, Spec};

/// The names of all hosts.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// Each guest's.
    pub(crate) guests: BTreeMap<Key, String>,
    /// Each node's, in the nodes' order.
    pub(crate) nodes: Vec<String>,
}

/// Names every host. A guest with a spec has the spec's name; every other has its own if nothing
/// else has it.
pub(crate) fn of(
    fetched: &Fetched,
    specs: &[Spec],
    binding: &Binding<'_>,
    config: &Config,
) -> Hosts {
    let guests = &fetched.guests;
    let cluster =
        |index: usize| config.clusters.get(index).and_then(|cluster| cluster.name.clone());
    let prefix = &config.prefix.value;
    let mut taken = groups::names_of(fetched, prefix, specs.iter().flat_map(Spec::groups));
    taken.extend(specs.iter().map(|spec| spec.name.clone()));
    let clusters: Vec<Option<String>> = (0..config.clusters.len()).map(cluster).collect();
    let named = fetched.nodes.iter().map(|node| {
        (node.name.as_str(), clusters.get(node.cluster).and_then(|name| name.as_deref()))
    });
    let nodes = names::nodes(named, &taken);
    taken.extend(nodes.iter().cloned());
    let wanted: Vec<Wanted> = guests
        .iter()
        .map(|guest| Wanted {
            key: guest.key(),
            cluster: cluster(guest.cluster),
            kind: guest.kind.as_str(),
            name: guest.name.clone(),
            domain: guest.domain().map(str::to_owned),
            fixed: binding.get(&guest.key()).map(|spec| spec.name.clone()),
        })
        .collect();
    Hosts { guests: names::hosts(&wanted, &taken, config.hostname.value), nodes }
}
