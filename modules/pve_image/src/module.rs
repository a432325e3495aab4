//! The module's steps, as the runner calls them.

use ansible_module::{Diff, Failure, Meta, Module, Place, RequiredIf, Run};

use crate::change::Change;
use crate::found::Found;
use crate::params::Params;
use crate::request::Request;
use crate::show::Returned;
use crate::target::Target;

/// The module.
#[derive(Debug)]
pub(crate) struct PveImage;

impl Module for PveImage {
    const META: Meta = Meta {
        name: "pve_image",
        groups: &["pve"],
        examples: include_str!("../examples.yml"),
        place: Place::ControlNode,
        mutually_exclusive: &[
            &["url", "src", "catalog"],
            &["catalog", "checksum"],
            &["volid", "name"],
        ],
        required_if: &[
            RequiredIf { option: "state", value: "present", needs: &["storage"], any: false },
            RequiredIf {
                option: "state",
                value: "present",
                needs: &["url", "src", "catalog"],
                any: true,
            },
            RequiredIf { option: "state", value: "absent", needs: &["volid", "name"], any: true },
        ],
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        params.connection.check()?;
        Request::of(params).map(|_| ())
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

    fn apply(change: &Change, _params: &Params, target: &mut Target) -> Result<(), Failure> {
        target.runtime.block_on(crate::apply::apply(change, &mut target.session))
    }

    fn diff(_params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
        crate::show::diff(found, plan)
    }

    fn returned(_params: &Params, found: &Found, target: &Target) -> Returned {
        crate::show::returned(found, &target.session)
    }
}
