//! What is asked beside the guests: the rules of high availability, and the nodes.

use std::collections::BTreeMap;

use pve_client::{Client, Error, Form, Kind};
use pve_types::lenient;
use serde::Deserialize;

use super::Node;
use super::endpoints::Endpoints;
use crate::error::said;

/// A rule of PVE 9.
#[derive(Debug, Deserialize)]
struct Rule {
    #[serde(default)]
    rule: String,
    /// `vm:100,ct:200`
    #[serde(default)]
    resources: String,
    #[serde(default, deserialize_with = "lenient::flag")]
    disable: bool,
}

/// A resource, which on PVE 8 has a group.
#[derive(Debug, Deserialize)]
struct Managed {
    #[serde(default)]
    sid: String,
    #[serde(default, deserialize_with = "lenient::optional_text")]
    group: Option<String>,
}

/// A node, or the cluster itself.
#[derive(Debug, Deserialize)]
struct Status {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    name: String,
    #[serde(default, deserialize_with = "lenient::optional_text")]
    ip: Option<String>,
    #[serde(default, deserialize_with = "lenient::flag")]
    online: bool,
}

/// The names of rules (PVE 9) or groups (PVE 8) by the guests in them, and what went wrong.
pub(super) async fn ha(endpoints: &Endpoints) -> (BTreeMap<u32, Vec<String>>, Option<String>) {
    let rules = |client: &Client| {
        let client = client.clone();
        async move { client.get::<Vec<Rule>>("/cluster/ha/rules", &Form::new()).await }
    };
    let mut of_guest: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut add = |sid: &str, name: String| {
        if let Some(vmid) = sid.trim().rsplit(':').next().and_then(|vmid| vmid.parse().ok()) {
            of_guest.entry(vmid).or_default().push(name);
        }
    };
    match endpoints.any(rules).await {
        Ok(rules) => {
            for rule in rules.iter().filter(|rule| !rule.disable) {
                for sid in rule.resources.split(',') {
                    add(sid, rule.rule.clone());
                }
            }
            return (of_guest, None);
        }
        // PVE 8 has no rules
        Err(errors) if errors.iter().any(|error| error.kind() == Some(&Kind::NotImplemented)) => {}
        Err(errors) => return (of_guest, Some(failed("the rules of high availability", &errors))),
    }
    let groups = |client: &Client| {
        let client = client.clone();
        async move { client.get::<Vec<Managed>>("/cluster/ha/resources", &Form::new()).await }
    };
    match endpoints.any(groups).await {
        Ok(list) => {
            for managed in list {
                if let Some(group) = managed.group.filter(|group| !group.is_empty()) {
                    add(&managed.sid, group);
                }
            }
            (of_guest, None)
        }
        Err(errors) => (of_guest, Some(failed("the groups of high availability", &errors))),
    }
}

/// The nodes with their addresses; without those, if the caller may not see the cluster's state.
pub(super) async fn nodes(endpoints: &Endpoints, cluster: usize) -> (Vec<Node>, Option<String>) {
    let status = |client: &Client| {
        let client = client.clone();
        async move { client.get::<Vec<Status>>("/cluster/status", &Form::new()).await }
    };
    let errors = match endpoints.any(status).await {
        Ok(list) => {
            let nodes = list.into_iter().filter(|row| row.kind == "node").map(|row| Node {
                cluster,
                name: row.name,
                online: row.online,
                address: row.ip.filter(|ip| ip.parse::<std::net::IpAddr>().is_ok()),
            });
            return (sorted(nodes.collect()), None);
        }
        Err(errors) => errors,
    };
    let warning = failed("the addresses of the nodes", &errors);
    let list = |client: &Client| {
        let client = client.clone();
        async move { client.resources(Some("node")).await }
    };
    let nodes = endpoints.any(list).await.unwrap_or_default().into_iter().filter_map(|row| {
        let name = row.node?.to_string();
        Some(Node { cluster, name, online: row.status == "online", address: None })
    });
    (sorted(nodes.collect()), Some(warning))
}

fn sorted(mut nodes: Vec<Node>) -> Vec<Node> {
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    nodes
}

fn failed(what: &str, errors: &[Error]) -> String {
    let texts: Vec<String> = errors.iter().map(said).collect();
    format!("{what} could not be read: {}", texts.join("; "))
}
