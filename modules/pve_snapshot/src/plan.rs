//! What would have to change. Pure.

use ansible_module::Failure;
use pve_client::Snapshot;
use pve_types::{Description, Pattern, vm_label};

use crate::change::Change;
use crate::found::Guest;
use crate::params::{Params, State};

/// What would have to change.
///
/// # Errors
/// When what is asked for cannot be had.
pub(crate) fn plan(params: &Params, guest: Option<&Guest>) -> Result<Vec<Change>, Failure> {
    let Some(guest) = guest else {
        if params.state == State::Absent {
            return Ok(Vec::new());
        }
        let meant = vm_label(params.name.as_deref(), params.vmid);
        return Err(Failure::new(format!("{meant} does not exist, or the caller may not see it")));
    };
    match params.state {
        State::Present => present(params, guest),
        State::Absent => Ok(absent(params, guest)),
        State::Rollback => rollback(params, guest).map(|change| vec![change]),
    }
}

fn present(params: &Params, guest: &Guest) -> Result<Vec<Change>, Failure> {
    let (label, name) = (guest.label(), params.snapname.clone());
    let mut changes = Vec::new();
    match guest.snapshot(&name) {
        None if guest.template => {
            return Err(Failure::new(format!(
                "{label} is a template, and PVE takes no snapshot of one"
            )));
        }
        None => changes.push(Change::Take {
            label: label.clone(),
            name,
            description: params.description.clone().filter(|text| !text.is_empty()),
            memory: params.vmstate && guest.running,
        }),
        Some(there) => {
            whole(there, &label)?;
            let before = there.description.clone().unwrap_or_default();
            match &params.description {
                Some(wanted) if Description::new(wanted) != Description::new(&before) => {
                    let (label, description) = (label.clone(), wanted.clone());
                    changes.push(Change::Describe { label, name, before, description });
                }
                _ => {}
            }
        }
    }
    if let (Some(keep), Some(pattern)) = (params.retention, &params.retention_pattern) {
        for name in too_many(&guest.snapshots, &params.snapname, keep as usize, pattern) {
            changes.push(Change::Remove { label: label.clone(), name, force: false });
        }
    }
    Ok(changes)
}

/// The snapshots that are removed so that with the wanted one no more than `keep` of the pattern
/// are left, the oldest first. The list is sorted by age.
fn too_many(snapshots: &[Snapshot], wanted: &str, keep: usize, pattern: &Pattern) -> Vec<String> {
    let others: Vec<&str> = snapshots
        .iter()
        .map(|snapshot| snapshot.name.as_str())
        .filter(|name| *name != wanted && pattern.matches(name))
        .collect();
    let excess = (others.len() + 1).saturating_sub(keep);
    others.iter().take(excess).map(|name| (*name).to_owned()).collect()
}

fn absent(params: &Params, guest: &Guest) -> Vec<Change> {
    let there = guest.snapshot(&params.snapname);
    there
        .map(|snapshot| Change::Remove {
            label: guest.label(),
            name: snapshot.name.clone(),
            force: params.force,
        })
        .into_iter()
        .collect()
}

fn rollback(params: &Params, guest: &Guest) -> Result<Change, Failure> {
    let label = guest.label();
    let Some(snapshot) = guest.snapshot(&params.snapname) else {
        let names: Vec<&str> = guest.snapshots.iter().map(|there| there.name.as_str()).collect();
        let there = if names.is_empty() {
            "it has none".to_owned()
        } else {
            format!("it has {}", names.join(", "))
        };
        return Err(Failure::new(format!(
            "{label} has no snapshot {} to go back to: {there}",
            params.snapname
        )));
    };
    whole(snapshot, &label)?;
    Ok(Change::Rollback {
        label,
        name: snapshot.name.clone(),
        stops: guest.running,
        runs: params.start || snapshot.vmstate,
    })
}

/// A snapshot whose making or removal was cut short is no state to keep or to go back to.
fn whole(snapshot: &Snapshot, label: &str) -> Result<(), Failure> {
    match &snapshot.snapstate {
        Some(state) => Err(Failure::new(format!(
            "snapshot {} of {label} is not whole ({state}): the task that worked on it was cut \
             short; remove it with state absent, if need be with force, and take it again",
            snapshot.name
        ))),
        None => Ok(()),
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
