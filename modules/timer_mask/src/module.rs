//! Ties the steps together.

use ansible_module::{Failure, Meta, Module, Place as Where, Run};
use managed_node::Node;
use schemars::JsonSchema;
use serde::Serialize;

use crate::observe::{Found, Place, Target, Timer};
use crate::params::Params;
use crate::plan::Change;
use crate::{apply, observe, plan};

/// The module.
pub(crate) struct TimerMask;

/// What the module returns.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// One entry for each timer, in the order of O(timers).
    timers: Vec<TimerState>,
}

/// The state of one timer.
#[derive(Debug, Serialize, JsonSchema)]
struct TimerState {
    /// The timer's name.
    name: String,
    /// As C(systemctl is-enabled) says it, for example V(masked), V(enabled), V(disabled),
    /// V(static) or V(not-found).
    state: &'static str,
    /// Whether the timer is active; not given where no systemd is running.
    active: Option<String>,
    /// The unit that the timer starts.
    service: String,
    /// Whether that unit is active; not given where no systemd is running.
    service_active: Option<String>,
    /// What is worth knowing beside that.
    notes: Vec<String>,
}

impl Module for TimerMask {
    const META: Meta = Meta {
        name: "timer_mask",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        place: Where::ManagedNode,
        ..Meta::DEFAULT
    };
    type Params = Params;
    type Returned = Returned;
    type Target = Target;
    type Found = Found;
    type Change = Change;

    fn check(params: &Params) -> Result<(), Failure> {
        Ok(params.check()?)
    }

    fn connect(params: &Params, run: &Run) -> Result<Target, Failure> {
        Ok(Target { node: Node::new(params.root.as_deref())?, run: run.clone() })
    }

    fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
        observe::observe(params, target)
    }

    fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
        plan::plan(params, found)
    }

    fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
        apply::apply(change, params, target)
    }

    fn returned(_params: &Params, found: &Found, _target: &Target) -> Returned {
        Returned { timers: found.timers.iter().map(TimerState::of).collect() }
    }
}

impl TimerState {
    fn of(timer: &Timer) -> Self {
        let live = timer.live.as_ref();
        Self {
            name: timer.name.clone(),
            state: state(timer),
            active: live.map(|live| live.active.clone()),
            service: timer.service.clone(),
            service_active: live.map(|live| live.service_active.clone()),
            notes: notes(timer),
        }
    }
}

fn state(timer: &Timer) -> &'static str {
    let vendor = timer.vendor.as_ref().map_or(&Place::Absent, |(_, place)| place);
    match (&timer.admin, &timer.runtime) {
        (admin, _) if admin.is_mask() => "masked",
        (Place::Absent, runtime) if runtime.is_mask() => "masked-runtime",
        (Place::Absent, _) if vendor.is_mask() => "masked",
        _ if !timer.links.is_empty() => "enabled",
        (Place::Link(_), _) => "linked",
        (Place::Absent, Place::Absent) if timer.vendor.is_none() => "not-found",
        _ if timer.installable => "disabled",
        _ => "static",
    }
}

fn notes(timer: &Timer) -> Vec<String> {
    let mut notes = Vec::new();
    if timer.vendor.is_none() && (timer.admin.is_mask() || timer.admin == Place::Absent) {
        notes.push(format!("{} is not installed", timer.name));
    }
    if timer.admin == Place::Empty {
        notes.push(format!("{} is masked by an empty file", timer.name));
    }
    if timer.live.is_none() {
        notes.push("no systemd is running here; nothing was started or stopped".to_owned());
    }
    if let Some(live) = timer.live.as_ref().filter(|live| live.service_running) {
        notes.push(format!("{} is {}", timer.service, live.service_active));
    }
    notes
}
