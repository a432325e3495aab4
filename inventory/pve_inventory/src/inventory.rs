//! The inventory itself: groups, hosts and their variables, as Ansible reads them.

use std::collections::BTreeMap;

use pve_types::address;
use serde_json::{Map, Value, json};

use crate::config::{Cluster, Config, Facts};
use crate::error::Error;
use crate::fetch::{Fetched, Node, Source};
use crate::groups::{self, Groups};
use crate::guest::Guest;
use crate::output::foreign;
use crate::spec::{Binding, Spec, in_cluster};
use crate::{facts, hosts};

/// Makes the inventory. Pure.
pub(crate) fn build(
    fetched: &Fetched,
    specs: &[Spec],
    binding: &Binding<'_>,
    config: &Config,
) -> Result<Value, Error> {
    let names = hosts::of(fetched, specs, binding, config);
    let mut groups = Groups::new(&config.prefix.value);
    let mut hostvars: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    let cluster = |index: usize| fetched.clusters.get(index).and_then(|c| c.name.as_deref());
    for guest in &fetched.guests {
        let name = &names.guests[&guest.key()];
        let cluster = cluster(guest.cluster);
        for group in groups::of(guest, cluster) {
            groups.add_own(&group, name);
        }
        hostvars.insert(name.clone(), of_guest(guest, cluster, config));
    }
    for (node, name) in fetched.nodes.iter().zip(&names.nodes) {
        groups.add_own("nodes", name);
        hostvars.insert(name.clone(), of_node(node, cluster(node.cluster)));
    }
    let clusters: Vec<Option<String>> =
        config.clusters.iter().map(|cluster| cluster.name.clone()).collect();
    for spec in specs {
        let bound = binding.iter().find(|(_, bound)| bound.name == spec.name);
        groups.add_own(if spec.destroy { "destroy" } else { "specs" }, &spec.name);
        // a guest that is to go is configured no more, but its groups still say what it was
        if bound.is_some() && !spec.destroy {
            groups.add_own("managed", &spec.name);
        }
        for group in spec.groups() {
            groups.add(group, &spec.name);
        }
        // a guest that is nowhere yet is made in the cluster that its spec names, else in the first
        let home = match bound {
            Some(((cluster, _), _)) => *cluster,
            None => in_cluster(spec, &clusters)?.unwrap_or(0),
        };
        let variables = hostvars.entry(spec.name.clone()).or_default();
        variables.extend(of_spec(spec, &config.clusters[home], fetched.clusters.get(home)));
    }
    let mut inventory = Map::new();
    for (group, hosts) in groups.iter() {
        inventory.insert(group.clone(), json!({"hosts": hosts}));
    }
    if !fetched.warnings.is_empty() {
        let warnings: Vec<Value> = fetched.warnings.iter().map(|text| foreign(text)).collect();
        let guests = format!("{}guests", config.prefix.value);
        inventory[&guests]["vars"] = json!({"pve_inventory_warnings": warnings});
    }
    inventory.insert("_meta".to_owned(), json!({"hostvars": hostvars}));
    Ok(Value::Object(inventory))
}

/// What the cluster says about a node.
fn of_node(node: &Node, cluster: Option<&str>) -> Map<String, Value> {
    let mut variables = Map::new();
    let mut set = |name: &str, value: Value| variables.insert(name.to_owned(), value);
    set("pve_kind", "node".into());
    set("pve_node", foreign(&node.name));
    set("pve_status", if node.online { "online" } else { "offline" }.into());
    set("pve_address", node.address.clone().into());
    if let Some(address) = &node.address {
        set("ansible_host", address.clone().into());
    }
    if let Some(cluster) = cluster {
        set("pve_cluster", cluster.into());
    }
    variables
}

/// What the cluster says about a guest.
fn of_guest(guest: &Guest, cluster: Option<&str>, config: &Config) -> Map<String, Value> {
    let mut variables = match config.facts.value {
        Facts::Slim => Map::new(),
        Facts::Full => facts::of(guest),
    };
    let mut set = |name: &str, value: Value| variables.insert(name.to_owned(), value);
    set("pve_vmid", guest.vmid.get().into());
    set("pve_name", guest.name.as_deref().map_or(Value::Null, foreign));
    set("pve_node", foreign(guest.node.as_str()));
    set("pve_kind", guest.kind.as_str().into());
    if let Some(cluster) = cluster {
        set("pve_cluster", cluster.into());
    }
    if config.cloud_init_user.value
        && let Some(user) = guest.cloud_init_user()
    {
        set("ansible_user", foreign(user));
    }
    set("pve_status", foreign(&guest.status));
    set("pve_pool", guest.pool.as_deref().map_or(Value::Null, foreign));
    set("pve_tags", guest.tags.iter().map(|tag| foreign(tag)).collect());
    set("pve_template", guest.template.into());
    set("pve_host_key_alias", guest.host_key_alias().into());
    match &guest.address {
        Ok(found) => {
            let ip = found.ip.to_string();
            let source = match found.source {
                address::Source::Agent => "agent",
                address::Source::Interfaces => "interfaces",
                address::Source::Configured => "configured",
            };
            set("ansible_host", ip.clone().into());
            set("pve_address", ip.into());
            set("pve_address_source", source.into());
        }
        Err(_) => {
            set("pve_address", Value::Null);
        }
    }
    if let Some(reason) = guest.reason() {
        set("pve_address_reason", foreign(&reason.text));
        let kind = serde_json::to_value(reason.kind).unwrap_or_default();
        set("pve_address_reason_kind", kind);
    }
    variables
}

/// What a spec says, and where the cluster is that it is for. These are the operator's own words,
/// templates included.
fn of_spec(spec: &Spec, cluster: &Cluster, source: Option<&Source>) -> Map<String, Value> {
    let mut variables = spec.variables();
    variables.insert("pve_spec".to_owned(), Value::Object(spec.content.clone()));
    if let Some(vmid) = spec.vmid {
        variables.entry("pve_vmid").or_insert_with(|| vmid.get().into());
    }
    let mut set = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            variables.insert(name.to_owned(), value);
        }
    };
    let path = |path: &std::path::PathBuf| {
        let whole = std::path::absolute(path).unwrap_or_else(|_| path.clone());
        Value::from(whole.display().to_string())
    };
    // the endpoint that answered, so that modules do not try a dead node
    let endpoint = source.map_or(0, |source| source.endpoint);
    set("pve_api_host", cluster.hosts().get(endpoint).map(|host| host.clone().into()));
    set("pve_api_port", cluster.port.as_ref().map(|s| s.value.into()));
    set("pve_api_user", cluster.user.as_ref().map(|s| s.value.clone().into()));
    set("pve_api_token_id", cluster.token_id.as_ref().map(|s| s.value.clone().into()));
    set("pve_api_fingerprint", cluster.fingerprint(endpoint).map(|text| text.clone().into()));
    set("pve_ca_path", cluster.ca_path.as_ref().map(|s| path(&s.value)));
    set("pve_api_token_secret_file", cluster.token_secret_file.as_ref().map(|s| path(&s.value)));
    set("pve_cluster", cluster.name.clone().map(Value::from));
    if !cluster.validate_certs.value {
        set("pve_api_validate_certs", Some(false.into()));
    }
    variables
}
