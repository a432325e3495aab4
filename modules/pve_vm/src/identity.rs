//! Which machine is meant: the vmid decides, else the name, which must be unique then.
//!
//! `/cluster/resources` lags by 10 s: a row without a name is asked for its own configuration
//! before anything is decided, so that a second run right after the first finds its machine.

use ansible_module::Failure;
use pve_client::{Error, GuestConfig, Resource, View};
use pve_types::{NodeName, Vmid};

use crate::found::label;
use crate::params::Params;
use crate::target::{Pauses, Session, failure, locked};

/// Where the machine is and its number, if it is there.
///
/// # Errors
/// When it cannot be told which machine is meant.
pub(crate) async fn find(
    params: &Params,
    session: &mut Session,
) -> Result<Option<(NodeName, Vmid)>, Failure> {
    let rows = session
        .client
        .resources(Some("vm"))
        .await
        .map_err(|error| failure(error).context("failed to list the guests of the cluster"))?;
    session.rows.clone_from(&rows);
    match (params.vmid(), &params.name) {
        (Some(vmid), _) => by_vmid(vmid, &rows, params),
        (None, Some(name)) => by_name(name, &rows, session).await,
        (None, None) => Err(Failure::new("give vmid or name: one of them says which vm is meant")),
    }
}

fn by_vmid(
    vmid: Vmid,
    rows: &[Resource],
    params: &Params,
) -> Result<Option<(NodeName, Vmid)>, Failure> {
    let Some(row) = rows.iter().find(|row| row.vmid == Some(vmid)) else { return Ok(None) };
    if row.kind == "lxc" {
        return Err(Failure::new(format!(
            "vmid {vmid} is the container {}, not {}",
            row.name.as_deref().unwrap_or("without a name yet"),
            label(params.name.as_deref(), None),
        )));
    }
    Ok(row.node.clone().map(|node| (node, vmid)))
}

async fn by_name(
    name: &str,
    rows: &[Resource],
    session: &Session,
) -> Result<Option<(NodeName, Vmid)>, Failure> {
    let (mut matches, unreadable) = named(name, rows, session).await;
    if matches.len() > 1 {
        return Err(Failure::new(format!(
            "{} machines are called {name}: {}; give vmid to say which is meant",
            matches.len(),
            listed(&matches)
        )));
    }
    if matches.is_empty() && !unreadable.is_empty() {
        // making another one of this name would be worse than waiting
        return Err(unknown(name, &unreadable));
    }
    Ok(matches.pop())
}

/// The failure of a name that a machine may have of which nothing can be read.
pub(crate) fn unknown(name: &str, unreadable: &[String]) -> Failure {
    Failure::new(format!(
        "it cannot be told whether a machine called {name} exists: the cluster does not say the \
         name of {}; give vmid, or try again when its node is there",
        unreadable.join(", ")
    ))
}

/// Machines for a message: `100 on pve1, 101 on pve2`.
pub(crate) fn listed(places: &[(NodeName, Vmid)]) -> String {
    let ids: Vec<String> = places.iter().map(|(node, vmid)| format!("{vmid} on {node}")).collect();
    ids.join(", ")
}

/// The machines of a name, and those of which the name cannot be read.
pub(crate) async fn named(
    name: &str,
    rows: &[Resource],
    session: &Session,
) -> (Vec<(NodeName, Vmid)>, Vec<String>) {
    let mut matches = Vec::new();
    let mut unreadable = Vec::new();
    for row in rows.iter().filter(|row| row.kind == "qemu") {
        let (Some(vmid), Some(node)) = (row.vmid, row.node.clone()) else { continue };
        match &row.name {
            Some(its) if its == name => matches.push((node, vmid)),
            Some(_) => {}
            None => match own_config(session, &node, vmid).await {
                Ok(config) if config.name() == Some(name) => matches.push((node, vmid)),
                Ok(_) => {}
                // removed since the list was made
                Err(error) if error.is_gone() => {}
                Err(error) => unreadable.push(format!("vm {vmid} on {node} ({error})")),
            },
        }
    }
    (matches, unreadable)
}

/// The configuration of a machine whose row says nothing yet. While it is being made it has no
/// name either, so that is waited out.
async fn own_config(session: &Session, node: &NodeName, vmid: Vmid) -> Result<GuestConfig, Error> {
    let mut pauses = Pauses::new(session.timeout);
    loop {
        let config = session.client.node(node).qemu(vmid).config(View::Current).await?;
        let making =
            config.name().is_none() && matches!(config.get("lock"), Some("create" | "clone"));
        if !making || !pauses.pause().await {
            return Ok(config);
        }
    }
}

/// Makes sure that the machine of this number is the one that is meant.
///
/// # Errors
/// When it has another name.
pub(crate) fn same_name(params: &Params, vmid: Vmid, name: &str) -> Result<(), Failure> {
    match &params.name {
        Some(wanted) if wanted != name => Err(Failure::new(format!(
            "vmid {vmid} is {}, not {wanted}: nothing was changed; give the right vmid or name",
            if name.is_empty() { "a machine without a name" } else { name }
        ))),
        _ => Ok(()),
    }
}

/// The failure of a machine that is being made for longer than is waited.
pub(crate) fn still_locked(session: &Session, label: &str, lock: &str) -> Failure {
    locked(label, lock, session.timeout)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use serde_json::json;

    #[test]
    fn the_number_decides() {
        let rows: Vec<Resource> = serde_json::from_value(json!([
            {"type": "qemu", "vmid": 100, "node": "pve3", "status": "unknown"},
            {"type": "lxc", "vmid": 200, "node": "pve1", "name": "ct"},
        ]))
        .unwrap();
        let find = |vmid: &str| {
            let params = params(&json!({"vmid": vmid}));
            by_vmid(vmid.parse().unwrap(), &rows, &params)
                .map(|place| place.map(|(node, vmid)| format!("{vmid} on {node}")))
                .map_err(|failure| failure.message().to_owned())
        };
        assert_eq!(find("100"), Ok(Some("100 on pve3".into())), "b52");
        assert_eq!(find("101"), Ok(None));
        assert_eq!(find("200"), Err("vmid 200 is the container ct, not vm web".into()));
    }

    #[test]
    fn b11_another_name_is_another_machine() {
        let vmid = "104".parse().unwrap();
        let error = same_name(&params(&json!({"name": "web"})), vmid, "db").unwrap_err();
        assert!(error.message().starts_with("vmid 104 is db, not web"), "{}", error.message());
        assert!(same_name(&params(&json!({"name": "db"})), vmid, "db").is_ok());
        assert!(same_name(&params(&json!({"name": null})), vmid, "db").is_ok());
    }
}
