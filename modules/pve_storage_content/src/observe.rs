//! What is there. Reads only.

use ansible_module::Failure;
use pve_client::Client;
use pve_types::ConfigDigest;

use crate::error::Error;
use crate::params::Params;
use crate::plan::plan;
use crate::preflight;

/// The state as read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The storage's type.
    pub(crate) kind: String,
    /// What it holds, in PVE's order.
    pub(crate) content: Vec<String>,
    /// The configuration that was read.
    pub(crate) digest: Option<ConfigDigest>,
}

/// Reads the storage's list, and looks for what stands against a change of it.
///
/// # Errors
/// When there is no such storage, or something stands against the plan.
pub(crate) async fn observe(params: &Params, client: &Client) -> Result<Found, Failure> {
    // the list is shown to more callers than a storage by itself
    let rows = client.storages().await?;
    let storage = &params.storage;
    let Some(row) = rows.iter().find(|row| row.storage == *storage) else {
        let ids: Vec<&str> = rows.iter().map(|row| row.storage.as_str()).collect();
        let there =
            if ids.is_empty() { "is none".to_owned() } else { format!("is {}", ids.join(", ")) };
        return Err(Error::Missing { storage: storage.clone(), there }.into());
    };
    let content: Vec<String> = row
        .content
        .split(',')
        .map(|word| word.trim().to_owned())
        .filter(|word| !word.is_empty())
        .collect();
    if content.is_empty() {
        return Err(Error::Unsaid { storage: storage.clone() }.into());
    }
    let found = Found { kind: row.kind.clone(), content, digest: row.digest.clone() };
    preflight::check(client, &found, &plan(params, &found)).await?;
    Ok(found)
}
