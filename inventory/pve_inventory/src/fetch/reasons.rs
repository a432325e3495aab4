//! Why one guest could not be read, in a word and a sentence.

use pve_client::{Error, Kind};
use pve_types::address::{Reason, ReasonKind};

use crate::error::said;
use crate::guest::Row;

/// What an error means for a guest.
pub(super) fn reason(error: &Error, row: &Row) -> Reason {
    let kind = match error.kind() {
        Some(Kind::Forbidden { .. }) => ReasonKind::Forbidden,
        Some(Kind::AgentNotRunning) => ReasonKind::AgentSilent,
        Some(Kind::AgentNotConfigured) => ReasonKind::AgentOff,
        Some(Kind::NotRunning) => ReasonKind::NotRunning,
        Some(Kind::NotImplemented) => ReasonKind::Unsupported,
        _ => ReasonKind::Failed,
    };
    let text = match kind {
        ReasonKind::AgentSilent => {
            "its agent does not answer: is qemu-guest-agent installed and started?".to_owned()
        }
        ReasonKind::Unsupported => {
            format!("node {} cannot say (PVE 8.1 and later can)", row.node)
        }
        _ if error.is_transport() => format!("node {} does not answer: {}", row.node, said(error)),
        _ => said(error),
    };
    Reason::new(kind, text)
}

/// Whether something was not read that is there: what `strict` does not accept.
pub(super) fn unread(kind: ReasonKind) -> bool {
    matches!(kind, ReasonKind::Forbidden | ReasonKind::Failed)
}
