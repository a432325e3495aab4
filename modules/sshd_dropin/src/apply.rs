//! Does one step, and takes it back when sshd does not like it.

use std::time::{SystemTime, UNIX_EPOCH};

use ansible_module::Failure;
use managed_node::{Attributes, Node, Saved};

use crate::config::FOLDER;
use crate::daemon::{self, Daemon};
use crate::error::Error;
use crate::observe::{Target, pending_mark};
use crate::params::{Params, Reload};
use crate::plan::Change;
use crate::{plan, trial};

pub(crate) fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
    match change {
        Change::Write { path, text, .. } => place(params, target, path, Some(text)),
        Change::Remove { path } => place(params, target, path, None),
        Change::TakeOver { path, daemon } => take_over(params, target, path, daemon),
    }
}

/// Writes or removes the file, and looks at the whole as it is then.
fn place(
    params: &Params,
    target: &mut Target,
    path: &str,
    text: Option<&str>,
) -> Result<(), Failure> {
    let node = target.node.clone();
    let before = node.save(path)?;
    if params.backup {
        target.backup = back_up(&node, path, &before)?;
    }
    let runs = !matches!(daemon::find(&node)?, Daemon::None | Daemon::Idle { .. });
    if runs && params.reload == Reload::Auto {
        let mark = pending_mark(params);
        if let Some((folder, _)) = mark.rsplit_once('/') {
            node.make_folder(folder, 0o755)?;
        }
        node.replace(&mark, b"sshd has not taken this change over yet\n", Attributes::default())?;
    }
    let placed = match text {
        Some(text) => {
            node.make_folder(FOLDER, 0o755)?;
            node.replace(path, text.as_bytes(), before.attributes_for_root())
        }
        None => node.remove(path).map(|_| ()),
    };
    // what could not be written is untouched, and could not be put back either
    let untouched = placed.is_err();
    let seen = placed.map_err(Failure::from).and_then(|()| in_force(params, &node, text));
    if let Err(failure) = seen {
        if !untouched {
            node.restore(path, &before)?;
        }
        node.remove(pending_mark(params))?;
        return Err(failure.context(&format!("{path} is as it was before")));
    }
    target.before = Some(before);
    Ok(())
}

/// The same questions as before, to the files in their places.
fn in_force(params: &Params, node: &Node, text: Option<&str>) -> Result<(), Failure> {
    let trial = trial::run(node, params, text)?;
    plan::accept(params, &trial)
}

fn take_over(
    params: &Params,
    target: &mut Target,
    path: &str,
    daemon: &Daemon,
) -> Result<(), Failure> {
    let node = &target.node;
    let Err(failure) = daemon::take_over(node, daemon, &target.listening) else {
        node.remove(pending_mark(params))?;
        return Ok(());
    };
    let Some(before) = &target.before else {
        return Err(Failure::new(format!("{} {}", failure.unit, failure.what)));
    };
    node.restore(path, before)?;
    node.remove(pending_mark(params))?;
    let then = match daemon::recover(node, daemon) {
        Ok(()) => "and sshd runs with it again".to_owned(),
        Err(failure) => format!("but sshd {}", failure.what),
    };
    let path = path.to_owned();
    Err(Error::Daemon { unit: failure.unit, what: failure.what, path, then }.into())
}

/// Keeps a copy beside the file under a name that no Include reads.
fn back_up(node: &Node, path: &str, before: &Saved) -> Result<Option<String>, Failure> {
    if *before == Saved::Absent {
        return Ok(None);
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let copy = format!("{path}.{}.{now}~", std::process::id());
    node.restore(&copy, before)?;
    Ok(Some(copy))
}
