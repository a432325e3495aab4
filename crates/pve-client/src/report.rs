//! What a VM says about its interfaces, or why it says nothing.

use std::collections::BTreeMap;

use pve_types::address::{Reason, ReasonKind, Report};
use pve_types::property::Agent;

use crate::classify::Kind;
use crate::error::Error;
use crate::nodes::qemu::Qemu;

impl Error {
    /// Why a guest could not be asked, in a word and a sentence.
    #[must_use]
    pub fn reason(&self) -> Reason {
        let kind = match self.kind() {
            Some(Kind::AgentNotRunning) => ReasonKind::AgentSilent,
            Some(Kind::AgentNotConfigured) => ReasonKind::AgentOff,
            Some(Kind::NotRunning) => ReasonKind::NotRunning,
            Some(Kind::Forbidden { .. }) => ReasonKind::Forbidden,
            Some(Kind::NotImplemented) => ReasonKind::Unsupported,
            _ => ReasonKind::Failed,
        };
        Reason::new(kind, self.to_string())
    }
}

impl Qemu<'_> {
    /// What the agent says about the interfaces. It is asked only if it can answer, since the
    /// question to a silent one takes 3 s. `config` is what the machine runs with.
    ///
    /// # Errors
    /// Why nothing is said.
    pub async fn report(
        self,
        running: bool,
        config: &BTreeMap<String, String>,
    ) -> Result<Report, Reason> {
        if !running {
            return Err(Reason::new(ReasonKind::NotRunning, "the machine does not run"));
        }
        let agent = config.get("agent").map(String::as_str).unwrap_or_default();
        if !Agent::new(agent).enabled() {
            let text = "the agent is off in the configuration that the machine runs with";
            return Err(Reason::new(ReasonKind::AgentOff, text));
        }
        match self.agent().network_interfaces().await {
            Ok(value) => serde_json::from_value(value).map_err(|error| {
                Reason::new(ReasonKind::Failed, format!("the agent said {error}"))
            }),
            Err(error) => Err(error.reason()),
        }
    }
}
