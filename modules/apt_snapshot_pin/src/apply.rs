//! Does the steps under the locks of apt and dpkg, and puts everything back when one fails.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use ansible_module::Failure;
use managed_node::{Attributes, Saved};

use crate::error::Error;
use crate::memory::{Memory, to_bytes};
use crate::observe::{self, Found, Target, in_force};
use crate::params::{Params, State};
use crate::plan::Change;

/// dpkg's lock for everybody who installs.
const DPKG_LOCK: &str = "/var/lib/dpkg/lock-frontend";
/// What apt keeps among the lists that are none.
const KEPT: [&str; 3] = ["lock", "partial", "auxfiles"];

/// What was done, to be undone.
#[derive(Debug, Default)]
pub(crate) struct Journal {
    files: Vec<(String, Saved)>,
    moves: Vec<(PathBuf, PathBuf)>,
}

pub(crate) fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
    step(change, params, target).inspect_err(|_| {
        let left = put_back(target);
        if left.is_empty() {
            target.run.undone();
        } else {
            target.run.warn(format!("not put back: {}", left.join("; ")));
        }
    })
}

fn step(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
    lock(params, target)?;
    match change {
        Change::Remember(memory) => {
            journal(target, crate::memory::FILE)?;
            Memory::write(Some(memory), &target.node)?;
        }
        Change::Forget => {
            journal(target, crate::memory::FILE)?;
            Memory::write(None, &target.node)?;
        }
        Change::Write { path, before, after, .. } => {
            if observe::text(&target.node, path)? != *before {
                let text = format!("{path} was changed by someone else while this ran");
                return Err(Failure::new(text).stale());
            }
            let real = target.node.follow(path)?.display().to_string();
            journal(target, &real)?;
            match after {
                Some(text) => {
                    target.node.replace(&real, &to_bytes(text), Attributes::default())?;
                }
                None => {
                    target.node.remove(&real)?;
                }
            }
        }
        Change::Lists { .. } => lists(params, target)?,
    }
    Ok(())
}

/// Both locks, once: nobody installs or updates while sources and lists do not fit together.
fn lock(params: &Params, target: &mut Target) -> Result<(), Error> {
    if !target.locks.is_empty() {
        return Ok(());
    }
    let limit = Duration::from_secs(params.lock_timeout);
    let deadline = Instant::now() + limit;
    let dpkg = target.node.lock(DPKG_LOCK, limit)?;
    let lists = crate::apt::AptConfig::read(&target.node)?.lists.join("lock");
    let left = deadline.saturating_duration_since(Instant::now());
    let lists = target.node.lock(lists, left)?;
    target.locks = vec![dpkg, lists];
    Ok(())
}

fn journal(target: &mut Target, path: &str) -> Result<(), Error> {
    let saved = target.node.save(path)?;
    target.journal.files.push((path.to_owned(), saved));
    Ok(())
}

/// Replaces the lists by those that were fetched, and looks at what apt makes of them.
fn lists(params: &Params, target: &mut Target) -> Result<(), Failure> {
    let (node, found) = (target.node.clone(), placed(params, target)?);
    let Some(staging) = &target.staging else { return Ok(()) };
    let old = staging.replaced()?;
    let folder = &found.apt.lists;
    let moved = |from: PathBuf, to: PathBuf, moves: &mut Vec<(PathBuf, PathBuf)>| {
        node.move_file(&from, &to)?;
        moves.push((from, to));
        Ok::<(), Error>(())
    };
    let names = |folder: &PathBuf| -> Result<Vec<String>, Error> {
        let entries = node.list(folder)?.into_iter();
        let files = entries.filter(|entry| entry.kind == managed_node::Kind::File);
        Ok(files.map(|entry| entry.name).filter(|name| !KEPT.contains(&name.as_str())).collect())
    };
    for name in names(folder)? {
        moved(folder.join(&name), old.join(&name), &mut target.journal.moves)?;
    }
    for name in names(&staging.lists())? {
        moved(staging.lists().join(&name), folder.join(&name), &mut target.journal.moves)?;
    }
    let missing = in_force(&node, &found)?;
    if missing.is_empty() || params.state == State::Absent {
        return Ok(());
    }
    let id = params.snapshot_id.as_ref().map(ToString::to_string).unwrap_or_default();
    Err(Error::NotInForce { id, list: missing.join("; ") }.into())
}

/// The state as it is read now that the files are in place.
fn placed(params: &Params, target: &mut Target) -> Result<Found, Error> {
    let staging = target.staging.take();
    let only_files = Params { update: false, ..params.clone() };
    let found = observe::observe(&only_files, target);
    target.staging = staging;
    found
}

/// Undoes what was done, last things first; gives what could not be undone.
fn put_back(target: &mut Target) -> Vec<String> {
    let journal = std::mem::take(&mut target.journal);
    let node = &target.node;
    let mut left = Vec::new();
    for (from, to) in journal.moves.iter().rev() {
        left.extend(
            node.move_file(to, from).err().map(|error| Failure::from(error).message().to_owned()),
        );
    }
    for (path, saved) in journal.files.iter().rev() {
        left.extend(
            node.restore(path, saved).err().map(|error| Failure::from(error).message().to_owned()),
        );
    }
    target.locks.clear();
    left
}
