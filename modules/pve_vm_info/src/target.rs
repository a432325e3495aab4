//! The connection of one run.

use ansible_module::{Failure, Run};
use pve_client::Client;
use tokio::runtime::Runtime;

use crate::params::Params;

/// The connection of one run.
#[derive(Debug)]
pub(crate) struct Target {
    /// Drives the client's calls.
    pub(crate) runtime: Runtime,
    /// The API.
    pub(crate) client: Client,
    /// The circumstances of the run.
    pub(crate) run: Run,
}

impl Target {
    /// Opens the connection; nothing is sent yet.
    ///
    /// # Errors
    /// When the options do not say how.
    pub(crate) fn new(params: &Params, run: &Run) -> Result<Self, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Self { runtime, client: Client::connect(&params.connection)?, run: run.clone() })
    }
}
