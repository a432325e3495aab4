//! The module's face to the runner.

use ansible_module::{Diff, Failure, Meta, Module, RequiredIf, Run};
use managed_node::Node;

use crate::apply;
use crate::config;
use crate::observe::{self, Found};
use crate::params::{Params, Returned};
use crate::plan::{self, Change};

/// Sets what apt does periodically.
#[derive(Debug)]
pub(crate) struct AptPeriodic;

impl Module for AptPeriodic {
    const META: Meta = Meta {
        name: "apt_periodic",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        required_if: &[RequiredIf {
            option: "state",
            value: "present",
            needs: &["settings"],
            any: false,
        }],
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Node;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        Ok(config::check(params)?)
    }

    fn connect(params: &Params, _run: &Run) -> Result<Node, Failure> {
        Ok(Node::new(params.root.as_deref())?)
    }

    fn observe(params: &Params, node: &mut Node) -> Result<Found, Failure> {
        Ok(observe::observe(params, node)?)
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        Ok(plan::plan(params, found)?)
    }

    fn apply(change: &Change, _params: &Params, node: &mut Node) -> Result<(), Failure> {
        Ok(apply::apply(change, node)?)
    }

    fn diff(_params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
        plan::diff(found, plan)
    }

    fn returned(params: &Params, found: &Found, _node: &Node) -> Returned {
        Returned {
            path: observe::path(params).display().to_string(),
            effective: found.effective.clone(),
        }
    }
}
