//! Which machine is meant: the vmid decides, else the name, which must be unique then.

use ansible_module::Failure;
use pve_client::FindError;
use pve_types::{NodeName, Vmid};

use crate::params::Params;
use crate::target::{Session, failure};

/// Where the machine is and its number, if it is there.
///
/// # Errors
/// When it cannot be told which machine is meant.
pub(crate) async fn find(
    params: &Params,
    session: &mut Session,
) -> Result<Option<(NodeName, Vmid)>, Failure> {
    let listed = session.client.resources(Some("vm")).await;
    session.rows = listed
        .map_err(|error| failure(error).context("failed to list the guests of the cluster"))?;
    let name = params.name.as_deref();
    let found =
        session.client.find_qemu_among(&session.rows, params.vmid(), name, session.timeout).await;
    found.map_err(not_found)
}

/// The failure of a machine of which it cannot be told which is meant.
pub(crate) fn not_found(error: FindError) -> Failure {
    Failure::new(error.to_string())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use serde_json::json;

    #[test]
    fn b11_another_name_is_another_machine() {
        let vmid = "104".parse().unwrap();
        let error = same_name(&params(&json!({"name": "web"})), vmid, "db").unwrap_err();
        assert!(error.message().starts_with("vmid 104 is db, not web"), "{}", error.message());
        assert!(same_name(&params(&json!({"name": "db"})), vmid, "db").is_ok());
        assert!(same_name(&params(&json!({"name": null})), vmid, "db").is_ok());
    }
}
