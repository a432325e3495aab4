//! Asking the cluster: one list, then for each guest no more than is needed.
//!
//! A template is not asked about, a guest that does not run has no agent to ask, and a silent agent
//! costs its own deadline and nobody else's.

use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::future::join_all;
use pve_client::{Client, GuestConfig, Kind, View};
use pve_types::address::{Known, Policy, Reason, ReasonKind, Report, explain};
use pve_types::property::Agent;
use pve_types::{GuestKind, Vmid};
use tokio::time::error::Elapsed;
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::error::Error;
use crate::guest::{Guest, Row, tags};
use crate::limit::Limit;
use crate::spec::Spec;

/// All that was read.
#[derive(Debug)]
pub(crate) struct Fetched {
    /// The guests, by vmid.
    pub(crate) guests: Vec<Guest>,
    /// What could not be read, beside what stands at single guests.
    pub(crate) warnings: Vec<String>,
}

/// What the calls of a run share.
struct Run<'a> {
    client: &'a Client,
    policy: &'a Policy,
    templates: bool,
    calls: Limit,
    agents: Limit,
    agent_deadline: Duration,
    specs: &'a [Spec],
}

/// One guest's outcome.
enum Outcome {
    Guest(Box<Guest>),
    /// Not wanted.
    Template,
    /// Not where the list says: it moved or was removed since.
    Moved(Box<Row>),
}

/// Reads the guests. Fails only when the list itself cannot be had.
pub(crate) async fn fetch(
    client: &Client,
    config: &Config,
    specs: &[Spec],
) -> Result<Fetched, Error> {
    let cap = config.concurrency.value as usize;
    let run = Run {
        client,
        policy: &config.policy.value,
        templates: config.templates.value,
        calls: Limit::new(cap),
        agents: Limit::new(cap),
        agent_deadline: Duration::from_secs(config.agent_timeout.value.into()),
        specs,
    };
    let rows = run.list().await?;
    if rows.is_empty() {
        run.rights().await?;
    }
    let mut guests = Vec::new();
    let mut warnings = Vec::new();
    let mut moved = Vec::new();
    let sort = |outcomes: Vec<Outcome>, guests: &mut Vec<Guest>| {
        let mut moved = Vec::new();
        for outcome in outcomes {
            match outcome {
                Outcome::Guest(guest) => guests.push(*guest),
                Outcome::Template => {}
                Outcome::Moved(row) => moved.push(row),
            }
        }
        moved
    };
    moved.extend(sort(join_all(rows.into_iter().map(|row| run.guest(row))).await, &mut guests));
    if !moved.is_empty() {
        // looked up once more where they are now: at the end of a migration a node may need a moment
        // to know its new guest, and one that is in no list any more is gone
        sleep(Duration::from_secs(1)).await;
        let now = run.list().await?;
        let again = now.into_iter().filter(|row| moved.iter().any(|old| old.vmid == row.vmid));
        let outcomes = join_all(again.map(|row| run.guest(row))).await;
        for row in sort(outcomes, &mut guests) {
            warnings.push(format!(
                "{} {} is in the cluster's list, and node {} does not have it",
                row.kind.noun(),
                row.vmid,
                row.node
            ));
        }
    }
    guests.sort_by_key(|guest| guest.vmid);
    Ok(Fetched { guests, warnings })
}

impl Run<'_> {
    async fn list(&self) -> Result<Vec<Row>, Error> {
        let resources = self.client.resources(Some("vm")).await?;
        // by vmid: one that moves between nodes may be listed twice
        let rows: BTreeMap<Vmid, Row> =
            resources.into_iter().filter_map(Row::new).map(|row| (row.vmid, row)).collect();
        Ok(rows.into_values().collect())
    }

    /// PVE lists no guest to one who may see none, without a word. That is said here.
    async fn rights(&self) -> Result<(), Error> {
        match self.client.permissions(None).await {
            Ok(permissions) if permissions.is_empty() => Err(Error::NoRights(self.client.caller())),
            _ => Ok(()),
        }
    }

    async fn guest(&self, row: Row) -> Outcome {
        if row.resource.template && !self.templates {
            return Outcome::Template;
        }
        let config = match self.config(&row).await {
            Ok(config) => Ok(config),
            Err(error) if error.is_gone() => return Outcome::Moved(Box::new(row)),
            Err(error) => Err(reason(&error, &row)),
        };
        // a fresh row does not say that it is a template
        let template = row.resource.template || config.as_ref().is_ok_and(GuestConfig::is_template);
        if template && !self.templates {
            return Outcome::Template;
        }
        let status = self.status(&row, config.is_ok()).await;
        let report = match &config {
            Err(reason) => Err(reason.clone()),
            Ok(_) if template => Err(Reason::new(ReasonKind::Template, "it is a template")),
            Ok(_) if status != "running" => {
                let text = format!("it does not run ({status})");
                Err(Reason::new(ReasonKind::NotRunning, text))
            }
            Ok(config) => self.report(&row, config).await,
        };
        let (address, explanation) = match &config {
            Ok(config) => {
                let known =
                    Known { kind: row.kind, config: config.as_map(), report: report.as_ref() };
                let (address, explanation) = explain(known, self.policy);
                (address, Some(explanation))
            }
            Err(reason) => (Err(reason.clone()), None),
        };
        let from_config = |key: &str| Some(config.as_ref().ok()?.get(key)?.to_owned());
        let its_name = config.as_ref().ok().and_then(|config| config.name().map(str::to_owned));
        let resource = row.resource;
        let its_tags = resource.tags.or_else(|| from_config("tags")).unwrap_or_default();
        Outcome::Guest(Box::new(Guest {
            kind: row.kind,
            vmid: row.vmid,
            node: row.node,
            name: resource.name.or(its_name),
            status,
            pool: resource.pool.filter(|pool| !pool.is_empty()),
            tags: tags(&its_tags),
            template,
            config,
            report,
            address,
            explanation,
        }))
    }

    async fn config(&self, row: &Row) -> Result<GuestConfig, pve_client::Error> {
        let node = self.client.node(&row.node);
        match row.kind {
            GuestKind::Qemu => self.calls.run(node.qemu(row.vmid).config(View::Current)).await,
            GuestKind::Lxc => self.calls.run(node.lxc(row.vmid).config(View::Current)).await,
        }
    }

    /// What it does now. The list is up to 10 s old: for a guest that is newer than that, and for
    /// one with a spec that may have been started a moment ago, the node is asked.
    async fn status(&self, row: &Row, reachable: bool) -> String {
        let listed = &row.resource.status;
        let fresh = listed.is_empty() || listed == "unknown";
        let ours = !row.is_running() && self.specs.iter().any(|spec| means(spec, row));
        if reachable && (fresh || ours) {
            let node = self.client.node(&row.node);
            let status = match row.kind {
                GuestKind::Qemu => self.calls.run(node.qemu(row.vmid).status()).await,
                GuestKind::Lxc => self.calls.run(node.lxc(row.vmid).status()).await,
            };
            if let Ok(status) = status
                && !status.status.is_empty()
            {
                return status.status;
            }
        }
        if listed.is_empty() { "unknown".to_owned() } else { listed.clone() }
    }

    /// Asks a guest, which has its whole deadline from when it is its turn.
    async fn in_time<T>(&self, call: impl Future<Output = T>) -> Result<T, Elapsed> {
        self.agents.run(async { timeout(self.agent_deadline, call).await }).await
    }

    async fn report(&self, row: &Row, config: &GuestConfig) -> Result<Report, Reason> {
        let node = self.client.node(&row.node);
        let silent = |_| {
            let seconds = self.agent_deadline.as_secs();
            let text = format!("its agent did not answer within {seconds} s (agent_timeout)");
            Reason::new(ReasonKind::AgentSilent, text)
        };
        let answer = match row.kind {
            GuestKind::Qemu => {
                let agent = Agent::new(config.get("agent").unwrap_or_default());
                if !agent.enabled() {
                    let text = "its agent is off (pve_vm: agent, or in the panel: Options)";
                    return Err(Reason::new(ReasonKind::AgentOff, text));
                }
                let call = node.qemu(row.vmid).agent().network_interfaces();
                self.in_time(call).await.map_err(silent)?
            }
            GuestKind::Lxc => {
                let call = node.lxc(row.vmid).interfaces();
                self.in_time(call).await.map_err(silent)?
            }
        };
        let data = answer.map_err(|error| reason(&error, row))?;
        serde_json::from_value(data)
            .map_err(|error| Reason::new(ReasonKind::Failed, format!("its answer is odd: {error}")))
    }
}

/// Whether a spec means this row, as far as the row tells.
fn means(spec: &Spec, row: &Row) -> bool {
    spec.vmid == Some(row.vmid) || row.resource.name.as_deref() == Some(&spec.name)
}

/// Why one guest could not be read, in a word and a sentence.
fn reason(error: &pve_client::Error, row: &Row) -> Reason {
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
        _ if error.is_transport() => format!("node {} does not answer: {error}", row.node),
        _ => error.to_string(),
    };
    Reason::new(kind, text)
}
