//! Running or not, there or not.

use ansible_module::Failure;

use super::cloudinit::is_cloudinit;
use crate::change::{Action, Change, Migration, Patience};
use crate::found::Guest;
use crate::params::{Params, State};
use crate::settings::Reboot;

/// What a machine does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Now {
    Stopped,
    Running,
    Paused,
    Hibernated,
}

fn now(guest: &Guest) -> Now {
    match (guest.running, guest.status.as_str()) {
        (true, "paused" | "suspended") => Now::Paused,
        (true, _) => Now::Running,
        // its memory waits on the disk
        (false, _) if guest.lock.as_deref() == Some("suspended") => Now::Hibernated,
        (false, _) => Now::Stopped,
    }
}

/// Whether the machine's memory waits on the disk.
#[must_use]
pub(crate) fn is_hibernated(guest: &Guest) -> bool {
    now(guest) == Now::Hibernated
}

/// The steps for a hibernated machine that is to be changed: it goes on before that, if it is to go
/// on at all, since PVE holds it locked until then.
///
/// # Errors
/// When it is not to go on.
pub(crate) fn awake(
    params: &Params,
    guest: &Guest,
    changes: Vec<Change>,
) -> Result<Vec<Change>, Failure> {
    let goes_on = matches!(params.state, State::Started | State::Restarted | State::Paused);
    if !goes_on || params.is_template() || matches!(changes.first(), Some(Change::Migrate(_))) {
        return Err(Failure::new(format!(
            "{} is hibernated, and PVE changes nothing of it until it goes on: start it first \
             (state: started)",
            guest.label()
        )));
    }
    let mut plan = reach(params, guest)?;
    plan.extend(changes);
    Ok(plan)
}

/// The steps that bring a machine that is there to a state of power.
///
/// # Errors
/// When it is a template and shall run.
pub(crate) fn reach(params: &Params, guest: &Guest) -> Result<Vec<Change>, Failure> {
    let now = now(guest);
    let restart = || Action::Restart { patience: patience(params), pending: Vec::new() };
    let actions = match (params.state, now) {
        (State::Started, Now::Running)
        | (State::Paused, Now::Paused)
        | (State::Hibernated, Now::Hibernated)
        | (State::Stopped, Now::Stopped | Now::Hibernated) => vec![],
        (State::Started | State::Restarted, Now::Stopped) => vec![Action::Start],
        (State::Started | State::Restarted, Now::Hibernated) | (State::Started, Now::Paused) => {
            vec![Action::Resume]
        }
        (State::Restarted, Now::Running) => vec![restart()],
        (State::Restarted, Now::Paused) => vec![Action::Resume, restart()],
        (State::Paused, Now::Running) => vec![Action::Pause],
        (State::Paused, Now::Stopped) => vec![Action::Start, Action::Pause],
        (State::Paused, Now::Hibernated) => vec![Action::Resume, Action::Pause],
        (State::Hibernated, Now::Running) => vec![Action::Hibernate],
        (State::Hibernated, Now::Stopped) => vec![Action::Start, Action::Hibernate],
        (State::Hibernated, Now::Paused) => vec![Action::Resume, Action::Hibernate],
        (State::Stopped, Now::Running) => vec![Action::Shutdown(patience(params))],
        // halted processors hear no wish to shut down
        (State::Stopped, Now::Paused) => {
            vec![Action::Resume, Action::Shutdown(patience(params))]
        }
        (State::Present | State::Template | State::Absent | State::Current, _) => vec![],
    };
    if guest.is("template") && !actions.is_empty() {
        let label = guest.label();
        return Err(Failure::new(format!("{label} is a template, which cannot be started")));
    }
    let label = guest.label();
    Ok(actions.into_iter().map(|action| Change::Power { label: label.clone(), action }).collect())
}

/// The steps that bring a machine that has just been made to a state of power.
#[must_use]
pub(crate) fn first(params: &Params, label: &str) -> Vec<Change> {
    let actions = match params.state {
        State::Started | State::Restarted => vec![Action::Start],
        State::Paused => vec![Action::Start, Action::Pause],
        State::Hibernated => vec![Action::Start, Action::Hibernate],
        _ => vec![],
    };
    actions.into_iter().map(|action| Change::Power { label: label.to_owned(), action }).collect()
}

/// The restart that brings settings into force, if the task allows it and the machine goes on
/// running.
#[must_use]
pub(crate) fn restart_if_required(
    params: &Params,
    guest: &Guest,
    plan: &[Change],
) -> Option<Change> {
    let wished = params.settings.reboot == Some(Reboot::IfRequired);
    let stays = matches!(params.state, State::Present | State::Started);
    if !wished || !stays || now(guest) != Now::Running {
        return None;
    }
    let pending: Vec<String> =
        guest.pending.keys().filter(|key| !is_cloudinit(key)).cloned().collect();
    let patience = patience(params);
    let action = if !pending.is_empty() {
        Action::Restart { patience, pending }
    } else if plan.iter().any(|change| matches!(change, Change::Set(_))) {
        Action::RestartIfPending(patience)
    } else {
        return None;
    };
    Some(Change::Power { label: guest.label(), action })
}

/// The step that moves a machine to the node that the task names.
///
/// # Errors
/// When it runs and may not be moved while it does.
pub(crate) fn migrate(params: &Params, guest: &Guest) -> Result<Option<Change>, Failure> {
    let Some(to) = params.node().filter(|node| params.migrate && **node != guest.node) else {
        return Ok(None);
    };
    if guest.running && !params.online {
        return Err(Failure::new(format!(
            "{} is running on {} and may not be moved while it does: stop it first, or set online \
             to true",
            guest.label(),
            guest.node
        )));
    }
    Ok(Some(Change::Migrate(Migration {
        label: guest.label(),
        from: guest.node.clone(),
        to: to.clone(),
        online: guest.running,
        with_local_disks: params.with_local_disks,
        storage: params.targetstorage.clone(),
    })))
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

fn patience(params: &Params) -> Patience {
    Patience { timeout: params.shutdown_timeout, force: params.force }
}

fn shutdown(params: &Params, guest: &Guest) -> Change {
    Change::Power { label: guest.label(), action: Action::Shutdown(patience(params)) }
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
