//! What a new machine is made from: read before anything is decided, so that the plan is the truth.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_client::{Form, Resource, View};
use pve_types::{NodeName, Vmid, VolId};

use crate::found::{Guest, Source};
use crate::identity::not_found;
use crate::params::{Params, State};
use crate::target::{Session, failure};

/// The source that a task names, if its machine is yet to be made.
///
/// # Errors
/// When there is none such, or more than one.
pub(crate) async fn find(params: &Params, session: &Session) -> Result<Option<Source>, Failure> {
    if matches!(params.state, State::Absent | State::Current) {
        return Ok(None);
    }
    if let Some(clone) = &params.clone {
        return copy_of(params, clone, session).await.map(Some);
    }
    match (&params.archive, params.node()) {
        (Some(archive), Some(node)) => {
            Ok(Some(Source::Archive(saved(archive, node, session).await)))
        }
        (Some(_), None) => Ok(Some(Source::Archive(None))),
        (None, _) => Ok(None),
    }
}

/// The machine to copy, where it is: a template on another node than the new machine's is copied
/// from its own.
async fn copy_of(params: &Params, clone: &str, session: &Session) -> Result<Source, Failure> {
    let number = params.newid.and(params.vmid).or_else(|| clone.parse().ok());
    let by_number = number.and_then(|vmid: Vmid| place(&session.rows, vmid));
    let (node, vmid) = match by_number {
        Some(place) => place,
        None => chosen(params, clone, session).await?,
    };
    let guest = settings(params, session, node, vmid).await?;
    Ok(Source::Clone(guest))
}

fn place(rows: &[Resource], vmid: Vmid) -> Option<(NodeName, Vmid)> {
    let row = rows.iter().find(|row| row.vmid == Some(vmid) && row.kind == "qemu")?;
    Some((row.node.clone()?, vmid))
}

/// The only machine of a name, or the only one on the new machine's node.
async fn chosen(
    params: &Params,
    clone: &str,
    session: &Session,
) -> Result<(NodeName, Vmid), Failure> {
    let named = session.client.qemu_named(clone, &session.rows, session.timeout).await;
    let named = named.readable(clone).map_err(not_found)?;
    let near: Vec<&(NodeName, Vmid)> =
        named.matches.iter().filter(|(node, _)| Some(node) == params.node()).collect();
    match (named.matches.as_slice(), near.as_slice()) {
        ([one], _) => Ok(one.clone()),
        ([], _) => Err(Failure::new(format!(
            "clone: there is no machine called {clone}, and none of this number, that the caller \
             may see"
        ))),
        (_, [one]) => Ok((*one).clone()),
        (_, []) => Err(Failure::new(format!(
            "clone: {clone} is ambiguous: {}; none of them is on {}, so give the number of the \
             one that is meant",
            named.places().join(", "),
            params.node().map_or("the new machine's node, which is not given", NodeName::as_str)
        ))),
        (_, _) => Err(Failure::new(format!(
            "clone: {clone} is ambiguous: {}; give the number of the one that is meant",
            named.places().join(", ")
        ))),
    }
}

async fn settings(
    params: &Params,
    session: &Session,
    node: NodeName,
    vmid: Vmid,
) -> Result<Guest, Failure> {
    let what = format!("failed to read vm {vmid} on {node}, which is to be copied");
    let qemu = session.client.node(&node).qemu(vmid);
    let config = match &params.snapname {
        Some(name) => qemu.config_of_snapshot(name).await,
        None => qemu.config(View::Pending).await,
    };
    let config = config.map_err(|error| failure(error).context(&what))?;
    let mut guest = Guest::unread(node, vmid);
    guest.config.clone_from(config.as_map());
    Ok(guest)
}

/// The configuration in a backup. A caller who may restore it may read it; where it cannot be read,
/// what will differ is found out when the machine is there.
async fn saved(
    archive: &VolId,
    node: &NodeName,
    session: &Session,
) -> Option<BTreeMap<String, String>> {
    let path = format!("/nodes/{node}/vzdump/extractconfig");
    let query = Form::new().text("volume", archive.to_string());
    match session.client.get::<String>(&path, &query).await {
        Ok(text) => Some(lines(&text)),
        Err(error) => {
            session.run.warn(format!(
                "the configuration in {archive} cannot be read, so what differs from it is told \
                 only when it is restored: {error}"
            ));
            None
        }
    }
}

/// The settings in a configuration file, those of its snapshots left out.
fn lines(text: &str) -> BTreeMap<String, String> {
    text.lines()
        .take_while(|line| !line.starts_with('['))
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(':'))
        .map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_saved_configuration_is_read_without_its_snapshots() {
        let text = "#notes: of it\nboot: order=scsi0\nscsi0: local:100/vm-100-disk-0.raw,size=1G\n\
                    #qmdump#map:scsi0:drive-scsi0:local:raw:\n\n[before]\ncores: 9\n";
        assert_eq!(
            json!(lines(text)),
            json!({"boot": "order=scsi0", "scsi0": "local:100/vm-100-disk-0.raw,size=1G"})
        );
    }
}
