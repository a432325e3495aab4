//! What has to change, and what must not be. Pure.

use std::fmt;

use ansible_module::Failure;
use managed_node::Saved;
use serde_json::json;

use crate::daemon::Daemon;
use crate::error::Error;
use crate::observe::Found;
use crate::params::{Params, Reload, State};
use crate::trial::Trial;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Write the file.
    Write { path: String, text: String, is_new: bool },
    /// Remove the file.
    Remove { path: String },
    /// Let sshd take the change over.
    TakeOver { path: String, daemon: Daemon },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { path, is_new: true, .. } => write!(f, "create {path}"),
            Self::Write { path, .. } => write!(f, "change {path}"),
            Self::Remove { path } => write!(f, "remove {path}"),
            Self::TakeOver { daemon: Daemon::Restart { unit, socket }, .. } => {
                write!(f, "restart {unit}, which {socket} started")
            }
            Self::TakeOver { daemon: Daemon::Reload { unit }, .. } => write!(f, "reload {unit}"),
            Self::TakeOver { .. } => f.write_str("leave sshd as it is"),
        }
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let path = params.path();
    let is_so = match &found.wanted {
        Some(text) => {
            found.current.content() == Some(text.as_bytes()) && found.current.is_roots_alone()
        }
        None => found.current == Saved::Absent,
    };
    objections(params, found, is_so)?;
    let mut changes = Vec::new();
    match (&found.wanted, is_so) {
        (_, true) => {}
        (Some(text), _) => {
            let is_new = found.current == Saved::Absent;
            changes.push(Change::Write { path: path.clone(), text: text.clone(), is_new });
        }
        (None, _) => changes.push(Change::Remove { path: path.clone() }),
    }
    let runs = matches!(found.daemon, Daemon::Reload { .. } | Daemon::Restart { .. });
    if (!changes.is_empty() || found.pending) && runs && params.reload == Reload::Auto {
        changes.push(Change::TakeOver { path, daemon: found.daemon.clone() });
    }
    Ok(changes)
}

/// Why the file cannot be, or stay, as it is asked for.
fn objections(params: &Params, found: &Found, is_so: bool) -> Result<(), Failure> {
    accept(params, &found.trial)?;
    // what is in force already locks nobody out who is not locked out now
    let keyless = &found.trial.keyless;
    if params.state == State::Present && !is_so && !keyless.is_empty() {
        return Err(Error::NoKeys { reasons: keyless.join("; ") }.into());
    }
    Ok(())
}

/// Whether sshd takes the whole, and our settings are in force in it.
pub(crate) fn accept(params: &Params, trial: &Trial) -> Result<(), Failure> {
    let path = params.path();
    if let Some(broken) = &trial.broken {
        let complaint = broken.complaint.clone();
        return Err(if broken.before {
            Error::BrokenBefore { path, complaint }.into()
        } else {
            Error::Broken { path, complaint }.into()
        });
    }
    if params.state == State::Absent {
        return Ok(());
    }
    let Some(by) = trial.included.iter().min_by_key(|included| included.conditions.len()) else {
        return Err(Error::NotIncluded { path }.into());
    };
    if let Some(condition) = by.conditions.first().filter(|_| params.verify) {
        return Err(Error::ConditionalInclude {
            path,
            by: by.by.clone(),
            criteria: condition.criteria.clone(),
            place: format!("{}:{}", condition.file, condition.line),
        }
        .into());
    }
    if !trial.conflicts.is_empty() {
        let text: Vec<_> = trial.conflicts.iter().map(ToString::to_string).collect();
        let conflicts: Vec<_> = trial
            .conflicts
            .iter()
            .map(|conflict| {
                json!({
                    "setting": conflict.wanted,
                    "effective": conflict.effective,
                    "connection": conflict.connection,
                    "file": conflict.winner.as_ref().map(|winner| &winner.file),
                    "line": conflict.winner.as_ref().map(|winner| winner.line),
                    "text": conflict.winner.as_ref().map(|winner| &winner.text),
                })
            })
            .collect();
        let failure = Failure::from(Error::NotInForce { text: text.join("; ") });
        return Err(failure.with("conflicts", conflicts));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
