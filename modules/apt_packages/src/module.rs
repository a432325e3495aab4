//! The module's face to the runner.

use ansible_module::{Failure, Meta, Module, Run};
use managed_node::Node;

use crate::apply;
use crate::error::Error;
use crate::observe::{self, Found};
use crate::package;
use crate::params::{Package, Params, Returned, State};
use crate::plan::{self, Change};
use crate::simulation::Step;

/// Installs and removes packages.
#[derive(Debug)]
pub(crate) struct AptPackages;

/// The node, and what apt was seen to be about to do.
#[derive(Debug)]
pub(crate) struct Target {
    node: Node,
    steps: Vec<Step>,
}

impl Module for AptPackages {
    const META: Meta = Meta {
        name: "apt_packages",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        let all = package::all(&params.name)?;
        if params.state == State::Absent
            && let Some(wanted) = all.into_iter().find(|wanted| wanted.version.is_some())
        {
            return Err(Error::AbsentVersion { name: wanted.argument() }.into());
        }
        Ok(())
    }

    fn connect(params: &Params, _run: &Run) -> Result<Target, Failure> {
        Ok(Target { node: Node::new(params.root.as_deref())?, steps: Vec::new() })
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
        let found = observe::observe(params, &target.node)?;
        target.steps.extend(found.steps.iter().cloned());
        Ok(found)
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        Ok(plan::plan(params, found)?)
    }

    fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
        Ok(apply::apply(change, params, &target.node)?)
    }

    fn returned(params: &Params, found: &Found, target: &Target) -> Returned {
        let packages = package::all(&params.name).unwrap_or_default().into_iter();
        Returned {
            steps: target.steps.clone(),
            packages: packages
                .map(|wanted| Package {
                    version: found.installed.version(&wanted.name).map(ToOwned::to_owned),
                    name: wanted.name,
                })
                .collect(),
        }
    }
}
