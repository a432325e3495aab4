//! The module's face to the runner.

use ansible_module::{Failure, Meta, Module, Run};
use managed_node::Node;

use crate::apply;
use crate::observe::{self, Found};
use crate::params::{Params, Returned};
use crate::plan::{self, Change};

/// Sets the time zone.
#[derive(Debug)]
pub(crate) struct Timezone;

impl Module for Timezone {
    const META: Meta = Meta {
        name: "timezone",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Node;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        Ok(observe::form(&params.name)?)
    }

    fn connect(params: &Params, _run: &Run) -> Result<Node, Failure> {
        Ok(Node::new(params.root.as_deref())?)
    }

    fn observe(params: &Params, node: &mut Node) -> Result<Found, Failure> {
        Ok(observe::observe(&params.name, node)?)
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        Ok(plan::plan(&params.name, found))
    }

    fn apply(change: &Change, _params: &Params, node: &mut Node) -> Result<(), Failure> {
        Ok(apply::apply(change, node)?)
    }

    fn returned(_params: &Params, found: &Found, _node: &Node) -> Returned {
        Returned {
            localtime: found.localtime.clone(),
            timezone: found.timezone.as_ref().map(|text| text.trim_end().to_owned()),
        }
    }
}
