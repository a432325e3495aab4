//! What has to change. Pure.
//!
//! The order matters: a timer that is masked while it runs ends as failed ("unit to trigger
//! vanished"), and a link that enables it would come back to life with a later unmask. So it is
//! stopped, unlinked and masked, and the other way round.

use std::fmt;

use ansible_module::Failure;

use crate::error::Error;
use crate::observe::{Found, Place, Timer};
use crate::params::{Params, State, StopRunning};
use crate::record::{Link, Phase, Record};
use crate::units::{ADMIN, RUNTIME};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    Remember { timer: String, record: Record },
    StopTimer { timer: String },
    RemoveLink { timer: String, link: Link },
    Mask { timer: String },
    Unmask { timer: String, path: String },
    RestoreLink { timer: String, link: Link },
    Reload,
    ResetFailed { unit: String },
    StopService { timer: String, service: String },
    StartTimer { timer: String },
    Forget { timer: String },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remember { timer, record } => {
                let enabled = if record.links.is_empty() { "not enabled" } else { "enabled" };
                let active = if record.active { "active" } else { "inactive" };
                write!(f, "remember that {timer} is {enabled} and {active}")
            }
            Self::StopTimer { timer } => write!(f, "stop {timer}"),
            Self::RemoveLink { timer, link } => {
                write!(f, "disable {timer}: remove link {}", link.path)
            }
            Self::Mask { timer } => write!(f, "mask {timer}"),
            Self::Unmask { timer, path } => write!(f, "unmask {timer}: remove {path}"),
            Self::RestoreLink { timer, link } => {
                write!(f, "enable {timer}: link {}", link.path)
            }
            Self::Reload => f.write_str("let systemd read its units again"),
            Self::ResetFailed { unit } => write!(f, "clear the failed state of {unit}"),
            Self::StopService { timer, service } => {
                write!(f, "stop {service}, which {timer} started")
            }
            Self::StartTimer { timer } => write!(f, "start {timer}"),
            Self::Forget { timer } => write!(f, "forget how {timer} was before it was masked"),
        }
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let mut before = Vec::new();
    let mut after = Vec::new();
    let mut stale = false;
    for timer in &found.timers {
        let steps = match params.state {
            State::Masked => masked(params, timer)?,
            State::Unmasked => unmasked(timer)?,
        };
        stale |= steps.reload && timer.live.is_some();
        before.extend(steps.before);
        after.extend(steps.after);
    }
    if stale {
        before.push(Change::Reload);
    }
    before.extend(after);
    Ok(before)
}

/// The steps for one timer, before and after systemd reads its units again.
#[derive(Default)]
struct Steps {
    before: Vec<Change>,
    reload: bool,
    after: Vec<Change>,
}

fn masked(params: &Params, found: &Timer) -> Result<Steps, Error> {
    obstacles(found)?;
    let timer = found.name.clone();
    let mut steps = Steps::default();
    let is_masked = found.admin.is_mask();
    let active = found.live.as_ref().is_some_and(|live| live.active != "inactive");
    let failed = found.live.as_ref().is_some_and(|live| live.active == "failed");
    let running = active && !failed;
    if !is_masked || !found.links.is_empty() {
        steps.before.extend(remember(found, is_masked, running));
    }
    if running {
        steps.before.push(Change::StopTimer { timer: timer.clone() });
    }
    for link in &found.links {
        let (timer, link) = (timer.clone(), link.clone());
        steps.before.push(Change::RemoveLink { timer, link });
        steps.reload = true;
    }
    if !is_masked {
        steps.before.push(Change::Mask { timer: timer.clone() });
    }
    steps.reload |= !is_masked || found.live.as_ref().is_some_and(|live| live.load != "masked");
    if failed {
        steps.after.push(Change::ResetFailed { unit: timer.clone() });
    }
    let at_work = found.live.as_ref().is_some_and(|live| live.service_running);
    if at_work && params.stop_running == StopRunning::Stop {
        steps.after.push(Change::StopService { timer, service: found.service.clone() });
    }
    Ok(steps)
}

/// What is worth remembering: nothing new if an earlier run was killed half way, since the state
/// that it found is the one to come back to.
fn remember(found: &Timer, is_masked: bool, running: bool) -> Option<Change> {
    let mut record = Record { phase: Phase::Masking, active: running, links: found.links.clone() };
    if let Some(old) = &found.record
        && (old.phase == Phase::Masking || is_masked)
    {
        record.active |= old.active;
        let kept = old.links.iter().filter(|link| !found.links.contains(link));
        record.links = kept.chain(&found.links).cloned().collect();
    }
    let known = found.record.as_ref().is_some_and(|old| {
        (old.active, &old.links, old.phase) == (record.active, &record.links, Phase::Masking)
    });
    (!known).then(|| Change::Remember { timer: found.name.clone(), record })
}

/// What stands where the mask has to be, or would make it worth nothing.
fn obstacles(found: &Timer) -> Result<(), Error> {
    let name = found.name.clone();
    let path = format!("{ADMIN}/{name}");
    match &found.admin {
        Place::File => return Err(Error::OwnFile { name, path }),
        Place::Link(target) => return Err(Error::Linked { name, path, target: target.clone() }),
        Place::Absent | Place::Mask | Place::Empty => {}
    }
    if let Some(path) = &found.above {
        return Err(Error::Outranked { name, path: path.clone() });
    }
    if let Some((_, Place::Link(target))) = &found.vendor
        && let Some(real) = target.file_name().map(|real| real.to_string_lossy().into_owned())
        && real != name
        && real.ends_with(".timer")
        && !real.contains('@')
    {
        return Err(Error::Alias { name, real });
    }
    Ok(())
}

fn unmasked(found: &Timer) -> Result<Steps, Error> {
    let timer = found.name.clone();
    let mut steps = Steps::default();
    let masks: Vec<String> = [(ADMIN, &found.admin), (RUNTIME, &found.runtime)]
        .into_iter()
        .filter(|(_, place)| place.is_mask())
        .map(|(folder, _)| format!("{folder}/{timer}"))
        .collect();
    let vendor_mask = found.vendor.as_ref().filter(|(_, place)| place.is_mask());
    if let Some((path, _)) = vendor_mask
        && (found.admin.is_mask() || found.admin == Place::Absent)
    {
        return Err(Error::VendorMask { name: timer, path: path.clone() });
    }
    let going_on = |record: &&Record| !masks.is_empty() || record.phase == Phase::Unmasking;
    let record = found.record.as_ref().filter(going_on);
    if let Some(record) = record {
        if record.phase != Phase::Unmasking {
            let record = Record { phase: Phase::Unmasking, ..record.clone() };
            steps.before.push(Change::Remember { timer: timer.clone(), record });
        }
        for link in record.links.iter().filter(|link| !found.links.contains(link)) {
            let (timer, link) = (timer.clone(), link.clone());
            steps.before.push(Change::RestoreLink { timer, link });
            steps.reload = true;
        }
    }
    for path in masks {
        steps.before.push(Change::Unmask { timer: timer.clone(), path });
        steps.reload = true;
    }
    steps.reload |= found.live.as_ref().is_some_and(|live| live.load == "masked");
    if let Some(record) = record {
        let inactive = found.live.as_ref().is_some_and(|live| live.active != "active");
        if record.active && inactive && found.vendor.is_some() {
            steps.after.push(Change::StartTimer { timer: timer.clone() });
        }
        steps.after.push(Change::Forget { timer });
    }
    Ok(steps)
}

#[cfg(test)]
mod tests;
