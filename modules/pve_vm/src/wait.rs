//! Waiting for the machine's own word: its agent, its address.

use ansible_module::Failure;
use pve_client::Pauses;
use pve_types::GuestKind;
use pve_types::address::{self, Address, Known, Reason, ReasonKind};

use crate::found::Guest;
use crate::params::{Params, State, WaitFor};
use crate::target::Session;

/// What the machine says of its address, if that was asked for. A machine that is to run is
/// waited for, in check mode it is only asked.
///
/// # Errors
/// When what is waited for does not come; the message says what was seen last and what to check.
pub(crate) async fn address(
    params: &Params,
    session: &mut Session,
    guest: Option<&Guest>,
) -> Result<Option<Result<Address, Reason>>, Failure> {
    let Some(guest) = guest.filter(|_| params.asks_guest() && params.state != State::Absent) else {
        return Ok(None);
    };
    let waits = matches!(params.state, State::Started | State::Restarted)
        && guest.running
        && !session.run.check_mode;
    let mut pauses = Pauses::new(session.timeout);
    loop {
        let qemu = session.client.node(&guest.node).qemu(guest.vmid);
        let report = qemu.report(guest.running, &guest.running_config).await;
        let known =
            Known { kind: GuestKind::Qemu, config: &guest.running_config, report: report.as_ref() };
        let answer = address::address(known, &params.policy());
        let reached = match params.wait_for {
            WaitFor::Agent => report.is_ok(),
            _ => report.is_ok() && answer.is_ok(),
        };
        if reached || !waits {
            return Ok(Some(answer));
        }
        let last = report.err().or_else(|| answer.as_ref().err().cloned());
        let hopeless = last.as_ref().is_some_and(|reason| is_final(reason.kind));
        if !hopeless && pauses.pause().await {
            continue;
        }
        // the configuration stands in for an agent that says nothing
        if params.wait_for == WaitFor::Address && answer.is_ok() {
            if let Some(reason) = last {
                session.run.warn(format!(
                    "the address of {} is the configured one, not an observed one: {}",
                    guest.label(),
                    reason.text
                ));
            }
            return Ok(Some(answer));
        }
        return Err(not_reached(params, session, guest, last.as_ref(), hopeless));
    }
}

/// Whether more waiting cannot help.
fn is_final(kind: ReasonKind) -> bool {
    matches!(
        kind,
        ReasonKind::NoNic
            | ReasonKind::NoMac
            | ReasonKind::Ambiguous
            | ReasonKind::AgentOff
            | ReasonKind::Forbidden
            | ReasonKind::NotRunning
    )
}

fn not_reached(
    params: &Params,
    session: &Session,
    guest: &Guest,
    last: Option<&Reason>,
    hopeless: bool,
) -> Failure {
    let what = match params.wait_for {
        WaitFor::Agent => "the agent of",
        _ => "an address of",
    };
    let after = if hopeless {
        "cannot be waited for".to_owned()
    } else {
        format!("did not come within {} s", session.timeout.as_secs())
    };
    let kind = last.map_or(ReasonKind::Failed, |reason| reason.kind);
    let text = last.map_or("nothing was said", |reason| &reason.text);
    let advice = match kind {
        ReasonKind::AgentOff => {
            "set agent to true, and let the machine stop and start if it runs already"
        }
        ReasonKind::AgentSilent | ReasonKind::Failed => {
            "check that the package qemu-guest-agent is in the image, that its service runs (its \
             udev rule starts it when /dev/virtio-ports/org.qemu.guest_agent.0 is there), and that \
             the machine was started after agent was set"
        }
        ReasonKind::NoAddress | ReasonKind::NoInterface | ReasonKind::LeftOut => {
            "check the bridge and VLAN of the interface, DHCP there, and ipconfig0"
        }
        ReasonKind::Forbidden => {
            "the privilege is VM.GuestAgent.Audit on PVE 9 and VM.Monitor on PVE 8"
        }
        _ => "check the machine's interfaces and state",
    };
    Failure::new(format!(
        "{what} {} on {} {after}; last seen: {text}; {advice}",
        guest.label(),
        guest.node
    ))
    .with("vmid", guest.vmid)
    .with("node", &guest.node)
    .with("address_reason", last)
}
