//! What would have to change.

use std::fmt;

use ansible_module::Diff;

use crate::error::Error;
use crate::memory::{Memory, to_bytes};
use crate::observe::{Found, Lists};
use crate::params::{Params, State};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Keep what the sources were.
    Remember(Memory),
    /// Write a file, or remove it.
    Write { path: String, before: Option<String>, after: Option<String>, what: String },
    /// Move the proved lists into place.
    Lists { what: String },
    /// Nothing is pinned any more.
    Forget,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remember(memory) => {
                write!(
                    f,
                    "remember the sources as they were before the pin to {}",
                    memory.snapshot_id
                )
            }
            Self::Write { what, .. } | Self::Lists { what } => f.write_str(what),
            Self::Forget => f.write_str("forget the pin"),
        }
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Error> {
    let goal = match &found.wanted_memory {
        Some(memory) => format!("the snapshot {}", memory.snapshot_id),
        None => "what it was before the pin".to_owned(),
    };
    if !found.pinning.refused.is_empty() {
        return Err(Error::Unpinned {
            count: found.pinning.refused.len(),
            id: params.snapshot_id.as_ref().map(ToString::to_string).unwrap_or_default(),
            list: found.pinning.refused.join("; "),
        });
    }
    let standing = &found.pinning.standing;
    if params.state == State::Absent && !standing.is_empty() {
        return Err(Error::Standing { count: standing.len(), list: standing.join("; ") });
    }
    let mut plan = Vec::new();
    if let Some(memory) = found.wanted_memory.as_ref()
        && found.memory.as_ref() != Some(memory)
    {
        plan.push(Change::Remember(memory.clone()));
    }
    for (path, (before, after)) in &found.files {
        let what = match after {
            Some(_) => format!("set {path} to {goal}"),
            None => format!("remove {path}"),
        };
        let (path, before, after) = (path.clone(), before.clone(), after.clone());
        plan.push(Change::Write { path, before, after, what });
    }
    // on the way back too, when a run that was killed had got as far as the sources
    if found.lists == Lists::Staged {
        let of = match &found.wanted_memory {
            Some(_) => goal,
            None => "the live archives".to_owned(),
        };
        plan.push(Change::Lists { what: format!("put the package lists of {of} in force") });
    }
    if found.wanted_memory.is_none() && found.memory.is_some() {
        plan.push(Change::Forget);
    }
    Ok(plan)
}

pub(crate) fn diff(plan: &[Change]) -> Vec<Diff> {
    plan.iter()
        .filter_map(|change| match change {
            Change::Write { path, before, after, .. } => Some(Diff {
                before_header: path.clone(),
                after_header: path.clone(),
                before: shown(before.as_deref()),
                after: shown(after.as_deref()),
            }),
            _ => None,
        })
        .collect()
}

/// A file's text for a reader: without passwords, with its last newline.
fn shown(text: Option<&str>) -> String {
    let text = text.unwrap_or_default();
    let text = String::from_utf8_lossy(&to_bytes(text)).into_owned();
    let mut shown = String::with_capacity(text.len());
    for line in text.split_inclusive(char::is_whitespace) {
        let (word, blank) = line.split_at(line.trim_end().len());
        shown.push_str(&crate::archive::mask(word));
        shown.push_str(blank);
    }
    if !shown.is_empty() && !shown.ends_with('\n') {
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests;
