//! What would have to change. Pure.

pub(crate) mod cloudinit;
pub(crate) mod create;
pub(crate) mod disk;
pub(crate) mod net;
pub(crate) mod power;
#[cfg(test)]
mod tests;
mod update;

use ansible_module::Failure;

use crate::change::Change;
use crate::found::{Found, label};
use crate::params::{Params, State};
use crate::wanted::wanted;

/// The steps from what is there to what is wanted.
///
/// # Errors
/// When what is wanted cannot be had.
pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let wanted = wanted(params)?;
    let Some(guest) = &found.guest else {
        return match params.state {
            State::Absent | State::Current => Ok(Vec::new()),
            State::Present | State::Stopped => create::plan(params, &wanted),
            State::Started => {
                let mut plan = create::plan(params, &wanted)?;
                plan.push(Change::Start { label: label(params.name.as_deref(), params.vmid) });
                Ok(plan)
            }
        };
    };
    let mut plan = match params.state {
        State::Absent => return power::absent(params, guest),
        State::Current => return Ok(Vec::new()),
        State::Present | State::Started | State::Stopped if params.update => {
            update::plan(params, &wanted, guest)?
        }
        State::Present | State::Started | State::Stopped => Vec::new(),
    };
    match params.state {
        State::Started => plan.extend(power::started(guest)?),
        State::Stopped => plan.extend(power::stopped(params, guest)),
        State::Present | State::Absent | State::Current => {}
    }
    Ok(plan)
}
