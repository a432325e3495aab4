//! What would have to change. Pure.

pub(crate) mod cloudinit;
pub(crate) mod create;
pub(crate) mod disk;
pub(crate) mod net;
pub(crate) mod power;
pub(crate) mod source;
#[cfg(test)]
mod tests;
pub(crate) mod update;
mod whole;

use ansible_module::Failure;

use crate::change::Change;
use crate::found::{Found, Source, label};
use crate::params::{Params, State};
use crate::wanted::{Wanted, wanted};
use update::Making;

/// The steps from what is there to what is wanted.
///
/// # Errors
/// When what is wanted cannot be had.
pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let plan = steps(params, found)?;
    whole::check(params, found, &plan)?;
    Ok(plan)
}

fn steps(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let wanted = wanted(params)?;
    let Some(guest) = &found.guest else { return made(params, &wanted, found.source.as_ref()) };
    let mut plan = match params.state {
        State::Absent => return power::absent(params, guest),
        State::Current => return Ok(Vec::new()),
        _ => Vec::from_iter(power::migrate(params, guest)?),
    };
    if params.update {
        plan.extend(update::plan(params, &wanted, guest, Making::No)?);
    }
    if power::is_hibernated(guest) && (!plan.is_empty() || params.is_template()) {
        return power::awake(params, guest, plan);
    }
    plan.extend(power::restart_if_required(params, guest, &plan));
    if params.is_template() {
        plan.extend(power::template(params, guest)?);
    } else {
        plan.extend(power::reach(params, guest)?);
    }
    Ok(plan)
}

/// The steps from nothing.
fn made(params: &Params, wanted: &Wanted, source: Option<&Source>) -> Result<Vec<Change>, Failure> {
    if matches!(params.state, State::Absent | State::Current) {
        return Ok(Vec::new());
    }
    let mut plan = match source {
        Some(source) => source::plan(params, wanted, source)?,
        None => create::plan(params, wanted)?,
    };
    let label = label(params.name.as_deref(), params.vmid());
    if params.is_template() {
        plan.push(Change::Template { label });
    } else {
        plan.extend(power::first(params, &label));
    }
    Ok(plan)
}
