//! What a module is: a declaration and five steps. The runner owns their order.

use std::fmt::Display;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Failure, Run};

/// The collection whose modules these are.
pub const COLLECTION: &str = "ferrite.pve";

/// What a module's types cannot say about it.
#[derive(Debug, Clone, Copy)]
pub struct Meta {
    /// The module's name, which is also its folder, package, binary and sidecar.
    pub name: &'static str,
    /// The action groups it belongs to (`module_defaults: group/ferrite.pve.NAME`).
    pub groups: &'static [&'static str],
    /// The collection's version that first had it.
    pub version_added: &'static str,
    /// Tasks to show as examples, YAML.
    pub examples: &'static str,
    /// Where it runs.
    pub place: Place,
    /// Options of which no two may be given together.
    pub mutually_exclusive: &'static [&'static [&'static str]],
    /// Options that are given all or none.
    pub required_together: &'static [&'static [&'static str]],
    /// Options of which at least one is needed.
    pub required_one_of: &'static [&'static [&'static str]],
    /// Options needed when another has a certain value.
    pub required_if: &'static [RequiredIf],
    /// Options that a module of another collection has for the same purpose and this one has not,
    /// each with what to do instead: it is added to the refusal.
    pub known_elsewhere: &'static [(&'static str, &'static str)],
}

impl Meta {
    /// A declaration without relations between options; fill in with struct update syntax.
    pub const DEFAULT: Self = Self {
        name: "",
        groups: &[],
        version_added: "0.1.0",
        examples: "",
        place: Place::ManagedNode,
        mutually_exclusive: &[],
        required_together: &[],
        required_one_of: &[],
        required_if: &[],
        known_elsewhere: &[],
    };
}

/// Where a module runs, which also decides its size budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// On the node it changes; copied there for each task.
    ManagedNode,
    /// On the control node (`delegate_to: localhost`), speaking to the PVE API.
    ControlNode,
}

/// When `option` has `value`, `needs` are required: all of them, or one of them.
#[derive(Debug, Clone, Copy)]
pub struct RequiredIf {
    /// The option that is looked at.
    pub option: &'static str,
    /// The value, as text.
    pub value: &'static str,
    /// The options needed then.
    pub needs: &'static [&'static str],
    /// Whether one of them is enough.
    pub any: bool,
}

/// One file or configuration before and after, as Ansible's diff mode shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Diff {
    /// A title for the state before, for example a path.
    pub before_header: String,
    /// A title for the state after.
    pub after_header: String,
    /// The text before; ends in a newline unless empty.
    pub before: String,
    /// The text after; ends in a newline unless empty.
    pub after: String,
}

/// A module: what it is called with, what it looks at, and what it does about it.
pub trait Module {
    /// What the types cannot say.
    const META: Meta;
    /// The options. Doc comments, types, `Option` and serde defaults are the declaration.
    type Params: DeserializeOwned + JsonSchema;
    /// What the module returns beside `changed`, `plan`, `diff`, `msg` and `warnings`.
    type Returned: Serialize + JsonSchema;
    /// What it works on: a node or a connection. Steps may keep what later steps need here.
    type Target;
    /// The state as read.
    type Found;
    /// One step; its text is shown to the user in `plan` ("set cores of vm 100 to 4").
    type Change: Display;

    /// Checks what a schema cannot say, before anything is touched or contacted.
    ///
    /// # Errors
    /// Names the option, what was given and what is allowed.
    fn check(params: &Self::Params) -> Result<(), Failure> {
        let _ = params;
        Ok(())
    }

    /// Opens the target. No write happens here.
    ///
    /// # Errors
    /// When the target cannot be reached.
    fn connect(params: &Self::Params, run: &Run) -> Result<Self::Target, Failure>;

    /// Reads the state. Never writes, also not in part; trials on a staging copy belong here.
    ///
    /// # Errors
    /// When the state cannot be read.
    fn observe(params: &Self::Params, target: &mut Self::Target) -> Result<Self::Found, Failure>;

    /// Says what would have to change. Pure.
    ///
    /// # Errors
    /// When what is asked for cannot be had.
    fn plan(params: &Self::Params, found: &Self::Found) -> Result<Vec<Self::Change>, Failure>;

    /// Does one step.
    ///
    /// # Errors
    /// When the step failed. [`Failure::stale`] asks the runner to observe and plan once more.
    fn apply(
        change: &Self::Change,
        params: &Self::Params,
        target: &mut Self::Target,
    ) -> Result<(), Failure>;

    /// Whether a change of this kind that is still planned after it was applied counts as reached:
    /// a one-shot action, or a value that cannot be read back.
    fn settled(change: &Self::Change) -> bool {
        let _ = change;
        false
    }

    /// What diff mode shows. Without an answer of its own the plan's lines are shown.
    fn diff(params: &Self::Params, found: &Self::Found, plan: &[Self::Change]) -> Vec<Diff> {
        let _ = (params, found, plan);
        Vec::new()
    }

    /// What is returned, from the last state that was read. In check mode that is the state before.
    fn returned(
        params: &Self::Params,
        found: &Self::Found,
        target: &Self::Target,
    ) -> Self::Returned;
}
