//! The module's steps, as the runner calls them. There is never anything to change.

use std::convert::Infallible;

use ansible_module::{Failure, Meta, Module, Place, Run};

use crate::params::Params;
use crate::returned::Returned;
use crate::target::Target;

/// The module.
#[derive(Debug)]
pub(crate) struct PveVmInfo;

impl Module for PveVmInfo {
    const META: Meta = Meta {
        name: "pve_vm_info",
        groups: &["pve"],
        examples: include_str!("../examples.yml"),
        place: Place::ControlNode,
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Returned;
    type Change = Infallible;

    fn check(params: &Params) -> Result<(), Failure> {
        Ok(params.connection.check()?)
    }

    fn connect(params: &Params, run: &Run) -> Result<Target, Failure> {
        Target::new(params, run)
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Returned, Failure> {
        let Target { runtime, client, run } = target;
        runtime.block_on(crate::observe::observe(params, client, run))
    }

    fn plan(_params: &Params, _found: &Returned) -> Result<Vec<Infallible>, Failure> {
        Ok(Vec::new())
    }

    fn apply(change: &Infallible, _: &Params, _: &mut Target) -> Result<(), Failure> {
        match *change {}
    }

    fn returned(_params: &Params, found: &Returned, _target: &Target) -> Returned {
        found.clone()
    }
}
