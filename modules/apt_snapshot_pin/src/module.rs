//! The module's face to the runner.

use ansible_module::{Diff, Failure, Meta, Module, RequiredIf, Run};
use managed_node::Node;

use crate::apply;
use crate::error::Error;
use crate::observe::{self, Found, Lists, Target};
use crate::params::{Params, Returned, State};
use crate::plan::{self, Change};

/// Pins apt to a snapshot.
#[derive(Debug)]
pub(crate) struct AptSnapshotPin;

impl Module for AptSnapshotPin {
    const META: Meta = Meta {
        name: "apt_snapshot_pin",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        required_if: &[RequiredIf {
            option: "state",
            value: "present",
            needs: &["snapshot_id"],
            any: false,
        }],
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        if params.state == State::Present
            && let Some(id) = &params.snapshot_id
        {
            id.not_after(observe::now())?;
        }
        for (key, template) in &params.servers {
            if !template.contains("@SNAPSHOTID@") {
                let (key, template) = (key.clone(), template.clone());
                return Err(Error::Template { key, template }.into());
            }
        }
        Ok(())
    }

    fn connect(params: &Params, run: &Run) -> Result<Target, Failure> {
        Ok(Target {
            node: Node::new(params.root.as_deref())?,
            run: run.clone(),
            staging: None,
            newer: Vec::new(),
            locks: Vec::new(),
            journal: apply::Journal::default(),
        })
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
        Ok(observe::observe(params, target)?)
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        plan::plan(params, found)
            .map_err(|error| Failure::from(error).with("sources", &found.pinning.reports))
    }

    fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
        apply::apply(change, params, target)
    }

    fn diff(_params: &Params, _found: &Found, plan: &[Change]) -> Vec<Diff> {
        plan::diff(plan)
    }

    fn returned(params: &Params, found: &Found, target: &Target) -> Returned {
        Returned {
            method: (params.state == State::Present).then_some(found.method),
            sources: found.pinning.reports.clone(),
            verified: found.lists != Lists::NotAsked,
            newer: target.newer.clone(),
        }
    }
}
