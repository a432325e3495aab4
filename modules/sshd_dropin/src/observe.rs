//! What there is: the file, what sshd says of the whole with our file in it, and the daemon.

use ansible_module::{Failure, Run};
use managed_node::{Kind, Node, Saved};

use crate::config::FOLDER;
use crate::daemon::{self, Daemon};
use crate::error::Error;
use crate::params::{Params, State};
use crate::render;
use crate::trial::{self, Trial};

/// Where it is remembered that a file was changed and sshd has not taken it over yet.
const PENDING: &str = "/var/lib/ferrite/sshd_dropin";

/// The node, and what the steps hand on.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) node: Node,
    pub(crate) run: Run,
    /// The file as it was before this run changed it.
    pub(crate) before: Option<Saved>,
    /// Where the copy of the old file is.
    pub(crate) backup: Option<String>,
    /// Where sshd should listen, from the last trial.
    pub(crate) listening: Vec<String>,
}

/// The state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file as it is.
    pub(crate) current: Saved,
    /// The text that it should have; nothing if it should not be there.
    pub(crate) wanted: Option<String>,
    /// What sshd says of the whole with the wanted text.
    pub(crate) trial: Trial,
    /// The running sshd.
    pub(crate) daemon: Daemon,
    /// Whether an earlier run was interrupted before sshd took the change over.
    pub(crate) pending: bool,
}

/// Where the mark for this drop-in lies.
pub(crate) fn pending_mark(params: &Params) -> String {
    format!("{PENDING}/{}.pending", params.name)
}

pub(crate) fn observe(params: &Params, target: &mut Target) -> Result<Found, Failure> {
    let node = &target.node;
    let path = params.path();
    let wanted = match params.state {
        State::Present => Some(render::text(params)?),
        State::Absent => None,
    };
    if matches!(node.kind(&path)?, Some(Kind::Folder | Kind::Other)) {
        return Err(Error::InTheWay { path }.into());
    }
    if wanted.is_some()
        && !matches!(
            node.follow(FOLDER).and_then(|folder| node.kind(folder))?,
            None | Some(Kind::Folder)
        )
    {
        return Err(Error::NoFolder { path: FOLDER.into() }.into());
    }
    let current = node.save(&path)?;
    let nothing_to_do = wanted.is_none() && current == Saved::Absent;
    let trial =
        if nothing_to_do { Trial::default() } else { trial::run(node, params, wanted.as_deref())? };
    let found = Found {
        current,
        wanted,
        trial,
        daemon: daemon::find(node)?,
        pending: node.kind(pending_mark(params))?.is_some(),
    };
    for warning in &found.trial.warnings {
        target.run.warn(warning);
    }
    target.listening.clone_from(&found.trial.listening);
    Ok(found)
}
