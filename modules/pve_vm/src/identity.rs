//! Which machine is meant: the vmid decides, else the name, which must be unique then.

use ansible_module::Failure;
use pve_client::FindError;
use pve_types::{NodeName, Vmid};

use crate::params::{Params, State};
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
    let (vmid, name) = (params.vmid(), params.name.as_deref());
    let alone = params.state == State::Absent || params.is_template();
    let client = &session.client;
    let found = client.find_qemu_among(&session.rows, vmid, name, alone, session.timeout).await;
    found.map_err(not_found)
}

/// The failure of a machine of which it cannot be told which is meant.
pub(crate) fn not_found(error: FindError) -> Failure {
    Failure::new(error.to_string())
}
