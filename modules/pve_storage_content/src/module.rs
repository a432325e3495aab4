//! The module's steps, as the runner calls them.

use ansible_module::{Diff, Failure, Meta, Module, Place, Run};
use pve_client::Client;
use pve_types::StorageId;
use schemars::JsonSchema;
use serde::Serialize;
use tokio::runtime::Runtime;

use crate::observe::Found;
use crate::params::Params;
use crate::plan::{self, Change};

/// The module.
#[derive(Debug)]
pub(crate) struct PveStorageContent;

/// The connection of one run.
#[derive(Debug)]
pub(crate) struct Target {
    runtime: Runtime,
    client: Client,
}

/// What the module returns.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The storage.
    storage: StorageId,
    /// Its type, for example `dir`.
    #[serde(rename = "type")]
    kind: String,
    /// What it holds, as it was read last.
    content: Vec<String>,
}

impl Module for PveStorageContent {
    const META: Meta = Meta {
        name: "pve_storage_content",
        groups: &["pve"],
        examples: include_str!("../examples.yml"),
        place: Place::ControlNode,
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        params.connection.check()?;
        Ok(params.check()?)
    }

    fn connect(params: &Params, _run: &Run) -> Result<Target, Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        Ok(Target { runtime, client: Client::connect(&params.connection)? })
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
        target.runtime.block_on(crate::observe::observe(params, &target.client))
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        Ok(plan::plan(params, found))
    }

    fn apply(change: &Change, _params: &Params, target: &mut Target) -> Result<(), Failure> {
        target.runtime.block_on(crate::apply::apply(change, &target.client))
    }

    fn diff(params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
        let Some(Change::Add { list, .. }) = plan.first() else { return Vec::new() };
        let header = format!("content of storage {}", params.storage);
        vec![Diff {
            before_header: header.clone(),
            after_header: header,
            before: found.content.join("\n"),
            after: list.join("\n"),
        }]
    }

    fn returned(params: &Params, found: &Found, _target: &Target) -> Returned {
        Returned {
            storage: params.storage.clone(),
            kind: found.kind.clone(),
            content: found.content.clone(),
        }
    }
}
