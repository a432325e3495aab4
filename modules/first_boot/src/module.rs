//! The module's face to the runner: it only observes.

use std::convert::Infallible;

use ansible_module::{Failure, Meta, Module, Run};
use managed_node::Node;

use crate::observe;
use crate::params::{Params, Returned};

/// Waits for the first boot.
#[derive(Debug)]
pub(crate) struct FirstBoot;

impl Module for FirstBoot {
    const META: Meta = Meta {
        name: "first_boot",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = (Node, Run);
    type Found = Returned;
    type Change = Infallible;

    fn connect(params: &Params, run: &Run) -> Result<(Node, Run), Failure> {
        Ok((Node::new(params.root.as_deref())?, run.clone()))
    }

    fn observe(params: &Params, (node, run): &mut (Node, Run)) -> Result<Returned, Failure> {
        Ok(observe::observe(params, node, run)?)
    }

    fn plan(_params: &Params, _found: &Returned) -> Result<Vec<Infallible>, Failure> {
        Ok(Vec::new())
    }

    fn apply(
        change: &Infallible,
        _params: &Params,
        _target: &mut (Node, Run),
    ) -> Result<(), Failure> {
        match *change {}
    }

    fn returned(_params: &Params, found: &Returned, _target: &(Node, Run)) -> Returned {
        found.clone()
    }
}
