//! Does one step.

use ansible_module::Failure;
use pve_client::{Client, Error};

use crate::plan::Change;

/// Writes the list. One that someone else changed meanwhile is read and compared once more.
///
/// # Errors
/// When PVE does not take it.
pub(crate) async fn apply(change: &Change, client: &Client) -> Result<(), Failure> {
    let Change::Add { storage, list, digest, .. } = change;
    client.set_storage_content(storage, list, digest.as_ref()).await.map_err(|error| {
        let (stale, lost) = (error.is_stale(), matches!(error, Error::MaybeSent { .. }));
        match Failure::from(error) {
            failure if lost => failure.perhaps_done(),
            failure if stale => failure.stale(),
            failure => failure,
        }
    })
}
