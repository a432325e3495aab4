//! The inventory itself: groups, hosts and their variables, as Ansible reads them.

use std::collections::BTreeMap;

use pve_types::address::Source;
use serde_json::{Map, Value, json};

use crate::config::Config;
use crate::fetch::Fetched;
use crate::groups::{self, Groups};
use crate::guest::Guest;
use crate::hosts;
use crate::output::foreign;
use crate::spec::{Binding, Spec};

/// Makes the inventory. Pure.
pub(crate) fn build(
    fetched: &Fetched,
    specs: &[Spec],
    binding: &Binding<'_>,
    config: &Config,
) -> Value {
    let names = hosts::of(&fetched.guests, specs, binding);
    let mut groups = Groups::new();
    let mut hostvars: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for guest in &fetched.guests {
        let name = &names[&guest.vmid.get()];
        for group in groups::of(guest) {
            groups.add(group, name);
        }
        hostvars.insert(name.clone(), of_guest(guest));
    }
    for spec in specs {
        let exists = binding.values().any(|bound| bound.name == spec.name);
        groups.add(if spec.destroy { "pve_destroy" } else { "pve_specs" }, &spec.name);
        // a guest that is to go is configured no more, but its groups still say what it was
        if exists && !spec.destroy {
            groups.add("pve_managed", &spec.name);
        }
        for group in spec.groups() {
            groups.add(group, &spec.name);
        }
        let variables = hostvars.entry(spec.name.clone()).or_default();
        variables.extend(of_spec(spec, config));
    }
    let mut inventory = Map::new();
    for (group, hosts) in groups.iter() {
        inventory.insert(group.clone(), json!({"hosts": hosts}));
    }
    if !fetched.warnings.is_empty() {
        let warnings: Vec<Value> = fetched.warnings.iter().map(|text| foreign(text)).collect();
        inventory["pve_guests"]["vars"] = json!({"pve_inventory_warnings": warnings});
    }
    inventory.insert("_meta".to_owned(), json!({"hostvars": hostvars}));
    Value::Object(inventory)
}

/// What the cluster says about a guest.
fn of_guest(guest: &Guest) -> Map<String, Value> {
    let mut variables = Map::new();
    let mut set = |name: &str, value: Value| variables.insert(name.to_owned(), value);
    set("pve_vmid", guest.vmid.get().into());
    set("pve_name", guest.name.as_deref().map_or(Value::Null, foreign));
    set("pve_node", foreign(guest.node.as_str()));
    set("pve_kind", guest.kind.as_str().into());
    set("pve_status", foreign(&guest.status));
    set("pve_pool", guest.pool.as_deref().map_or(Value::Null, foreign));
    set("pve_tags", guest.tags.iter().map(|tag| foreign(tag)).collect());
    set("pve_template", guest.template.into());
    set("pve_host_key_alias", guest.host_key_alias().into());
    match &guest.address {
        Ok(address) => {
            let ip = address.ip.to_string();
            let source = match address.source {
                Source::Agent => "agent",
                Source::Interfaces => "interfaces",
                Source::Configured => "configured",
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
fn of_spec(spec: &Spec, config: &Config) -> Map<String, Value> {
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
    set("pve_api_host", config.host.as_ref().map(|s| s.value.clone().into()));
    set("pve_api_port", config.port.as_ref().map(|s| s.value.into()));
    set("pve_api_user", config.user.as_ref().map(|s| s.value.clone().into()));
    set("pve_api_token_id", config.token_id.as_ref().map(|s| s.value.clone().into()));
    set("pve_api_fingerprint", config.fingerprint.as_ref().map(|s| s.value.clone().into()));
    set("pve_ca_path", config.ca_path.as_ref().map(|s| path(&s.value)));
    set("pve_api_token_secret_file", config.token_secret_file.as_ref().map(|s| path(&s.value)));
    if !config.validate_certs.value {
        set("pve_api_validate_certs", Some(false.into()));
    }
    variables
}
