//! The module's steps, as the runner calls them.

use ansible_module::{Diff, Failure, Meta, Module, Place, Run};

use crate::change::Change;
use crate::found::Found;
use crate::params::Params;
use crate::show::Returned;
use crate::target::Target;

/// The module.
#[derive(Debug)]
pub(crate) struct PveVm;

impl Module for PveVm {
    const META: Meta = Meta {
        name: "pve_vm",
        groups: &["pve"],
        examples: include_str!("../examples.yml"),
        place: Place::ControlNode,
        required_one_of: &[&["vmid", "name", "newid"]],
        mutually_exclusive: &[&["clone", "archive", "image"]],
        known_elsewhere: &[
            (
                "lock",
                "a lock belongs to the task that set it; one left behind is cleared on the node \
                 with `qm unlock`",
            ),
            ("skiplock", "a lock is waited for, up to wait_timeout, and never passed over"),
            (
                "update_unsafe",
                "leave it out: disks and NICs are compared like everything else, and what is not \
                 named stays as it is",
            ),
        ],
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        crate::check::check(params)
    }

    fn connect(params: &Params, run: &Run) -> Result<Target, Failure> {
        Target::new(params, run)
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
        target.runtime.block_on(crate::observe::observe(params, &mut target.session))
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        crate::plan::plan(params, found)
    }

    fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
        target.runtime.block_on(crate::apply::apply(change, params, &mut target.session))
    }

    fn settled(change: &Change) -> bool {
        change.is_settled()
    }

    fn diff(params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
        crate::show::diff(params, found, plan)
    }

    fn returned(params: &Params, found: &Found, target: &Target) -> Returned {
        crate::show::returned(params, found, &target.session)
    }
}
