//! Running or not, there or not.

use ansible_module::Failure;

use crate::change::Change;
use crate::found::Guest;
use crate::params::Params;

/// The steps that make a machine run.
///
/// # Errors
/// When it is a template.
pub(crate) fn started(guest: &Guest) -> Result<Vec<Change>, Failure> {
    let label = guest.label();
    if guest.is("template") {
        return Err(Failure::new(format!("{label} is a template, which cannot be started")));
    }
    Ok(match (guest.running, guest.status.as_str()) {
        (true, "paused" | "suspended") => vec![Change::Resume { label }],
        (true, _) => Vec::new(),
        // hibernated: its memory waits on the disk
        (false, _) if guest.lock.as_deref() == Some("suspended") => vec![Change::Resume { label }],
        (false, _) => vec![Change::Start { label }],
    })
}

/// The steps that make a machine stand still.
#[must_use]
pub(crate) fn stopped(params: &Params, guest: &Guest) -> Vec<Change> {
    if !guest.running {
        return Vec::new();
    }
    vec![shutdown(params, guest)]
}

/// The steps that make a machine a template. What forbids it is looked for before it is stopped.
///
/// # Errors
/// When it has snapshots, or runs and may not be stopped.
pub(crate) fn template(params: &Params, guest: &Guest) -> Result<Vec<Change>, Failure> {
    let label = guest.label();
    if guest.is("template") {
        return Ok(Vec::new());
    }
    if let Some(snapshot) = guest.config.get("parent") {
        return Err(Failure::new(format!(
            "{label} cannot become a template: it has snapshots, {snapshot} is the last; remove \
             them first"
        )));
    }
    let mut plan = Vec::new();
    if guest.running {
        if !params.force {
            return Err(Failure::new(format!(
                "{label} is running and cannot become a template: stop it first, or set force to \
                 have it stopped"
            )));
        }
        plan.push(shutdown(params, guest));
    }
    plan.push(Change::Template { label });
    Ok(plan)
}

fn shutdown(params: &Params, guest: &Guest) -> Change {
    let timeout = params.shutdown_timeout;
    Change::Shutdown { label: guest.label(), timeout, force: params.force }
}

/// The steps that remove a machine. What forbids it is looked for before anything is stopped.
///
/// # Errors
/// When it is protected, looked after by HA, or runs and may not be stopped.
pub(crate) fn absent(params: &Params, guest: &Guest) -> Result<Vec<Change>, Failure> {
    let label = guest.label();
    if guest.is("protection") {
        return Err(Failure::new(format!(
            "{label} is protected: set protection to false first (nothing was stopped)"
        )));
    }
    if guest.ha_managed && !params.purge {
        return Err(Failure::new(format!(
            "{label} is looked after by HA: take it out of HA first, or set purge (nothing was \
             stopped)"
        )));
    }
    let mut plan = Vec::new();
    if guest.running {
        if !params.force {
            return Err(Failure::new(format!(
                "{label} is running: stop it first, or set force to have it stopped"
            )));
        }
        plan.push(shutdown(params, guest));
    }
    plan.push(Change::Destroy { label, volumes: guest.volumes() });
    Ok(plan)
}
