//! Ties the steps together.

use std::collections::BTreeMap;

use ansible_module::{Diff, Failure, Meta, Module, Place, Run};
use managed_node::Node;
use schemars::JsonSchema;
use serde::Serialize;

use crate::daemon::Daemon;
use crate::observe::{Found, Target};
use crate::params::{Params, State};
use crate::plan::Change;
use crate::{apply, observe, plan};

/// The module.
pub(crate) struct SshdDropin;

/// What the module returns.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The path of the file.
    path: String,
    /// What C(sshd -T) shows for the file's keywords, for an ordinary user. Keywords that add up
    /// have all values.
    effective: BTreeMap<String, Vec<String>>,
    /// The socket unit that listens in place of sshd, if there is one.
    socket: Option<String>,
    /// The path of the copy of the old file, with O(backup).
    backup_file: Option<String>,
    /// What is left for someone else to do.
    notes: Vec<String>,
}

impl Module for SshdDropin {
    const META: Meta = Meta {
        name: "sshd_dropin",
        groups: &["guest"],
        examples: include_str!("../examples.yml"),
        place: Place::ManagedNode,
        mutually_exclusive: &[&["settings", "content"], &["match", "content"]],
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
        Ok(Target {
            node: Node::new(params.root.as_deref())?,
            run: run.clone(),
            before: None,
            backup: None,
            listening: Vec::new(),
        })
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

    fn diff(params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
        let writes = plan.iter().any(|change| !matches!(change, Change::TakeOver { .. }));
        if !writes {
            return Vec::new();
        }
        let before = found.current.content().map(String::from_utf8_lossy).unwrap_or_default();
        let path = params.path();
        vec![Diff {
            before_header: path.clone(),
            after_header: path,
            before: before.into_owned(),
            after: found.wanted.clone().unwrap_or_default(),
        }]
    }

    fn returned(params: &Params, found: &Found, target: &Target) -> Returned {
        Returned {
            path: params.path(),
            effective: found.trial.effective.clone(),
            socket: found.daemon.socket().map(ToOwned::to_owned),
            backup_file: target.backup.clone(),
            notes: notes(params, found),
        }
    }
}

fn notes(params: &Params, found: &Found) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(socket) = found.daemon.socket()
        && found.trial.moves_port
    {
        notes.push(format!(
            "{socket} listens in place of sshd, so that Port and ListenAddress have no effect by \
             themselves: set ListenStream there, or where the socket is generated from them \
             (Ubuntu) run systemctl daemon-reload, and then systemctl restart {socket}"
        ));
    }
    match &found.daemon {
        Daemon::None if params.state == State::Present => {
            notes.push("no systemd is running here; no sshd was reloaded".to_owned());
        }
        Daemon::Idle { .. } => {
            notes.push("sshd is not running; its next start reads the file".to_owned())
        }
        _ => {}
    }
    notes
}
