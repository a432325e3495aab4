//! Asking one cluster: one list, then for each guest no more than is needed.
//!
//! A template is not asked about, a guest that does not run has no agent to ask, and a silent agent
//! costs its own deadline and nobody else's.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream;
use pve_client::{Client, Error as ApiError, GuestConfig, View};
use pve_types::address::{NetSlot, Reason, ReasonKind, Report};
use pve_types::property::Agent;
use pve_types::{GuestKind, NodeName, Vmid};
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::Answer;
use super::endpoints::{Ask, Endpoints};
use super::extras;
use super::reasons::reason;
use super::rights::{blind, shows_guests};
use crate::config::Config;
use crate::error::{Error, said};
use crate::guest::{Guest, Row, tags};
use crate::spec::Spec;

/// How many guests are looked at together. The limits decide about calls; this one is about memory.
const TOGETHER: usize = 1024;
/// A node that did not answer so often is not asked about its other guests.
const NODE_IS_DOWN: u32 = 3;

/// What the calls of a run share.
struct Run<'a> {
    config: &'a Config,
    index: usize,
    specs: &'a [Spec],
    whole: bool,
    silent: &'a BTreeMap<u32, u64>,
    endpoints: Endpoints,
    /// How often each node did not answer, and what it was last.
    down: RefCell<BTreeMap<NodeName, (u32, Reason)>>,
}

/// One guest's outcome.
enum Outcome {
    Guest(Box<Guest>),
    /// Not wanted.
    Unwanted,
    /// Not where the list says: it moved or was removed since.
    Moved(Box<Row>),
}

/// Reads a cluster's guests. Fails only when the list itself cannot be had. The agents of the guests
/// in `silent`, each with the seconds since it was asked, are left alone.
pub(super) async fn read(
    config: &Config,
    index: usize,
    specs: &[Spec],
    whole: bool,
    silent: &BTreeMap<u32, u64>,
) -> Result<Answer, Error> {
    let clients = config.clusters[index].connect(config.timeout.value)?;
    let endpoints = Endpoints::new(clients, config.concurrency.value as usize);
    let run = Run { config, index, specs, whole, silent, endpoints, down: RefCell::default() };
    let mut rows = run.list().await?;
    let mut answer = Answer::default();
    if rows.is_empty() {
        answer.warnings.extend(run.rights().await?);
    }
    rows.retain(|row| run.is_wanted(row));
    let managed = rows.iter().any(|row| row.resource.hastate.is_some());
    let mut rows = rows.into_iter();
    // the other endpoints show by a guest each whether they can be used
    let first: Vec<Row> = rows.by_ref().take(run.endpoints.unknown()).collect();
    let mut moved = run.guests(first, &mut answer).await;
    run.endpoints.give_up_unknown();
    moved.extend(run.guests(rows.collect(), &mut answer).await);
    if !moved.is_empty() {
        run.again(moved, &mut answer).await?;
    }
    if managed {
        let (rules, warning) = extras::ha(&run.endpoints).await;
        for guest in &mut answer.guests {
            guest.ha = rules.get(&guest.vmid.get()).cloned().unwrap_or_default();
        }
        answer.warnings.extend(warning);
    }
    if config.nodes.value {
        let (nodes, warning) = extras::nodes(&run.endpoints, index).await;
        answer.nodes = nodes;
        answer.warnings.extend(warning);
    }
    for (node, (_, reason)) in run.down.borrow().iter() {
        let lost = |guest: &&Guest| guest.node == *node && guest.config.is_err();
        let count = answer.guests.iter().filter(lost).count();
        if count > 0 {
            answer.warnings.push(format!("{count} guests could not be read: {}", reason.text));
        }
    }
    answer.guests.sort_by_key(|guest| guest.vmid);
    answer.endpoint = run.endpoints.alive();
    Ok(answer)
}

impl Run<'_> {
    async fn list(&self) -> Result<Vec<Row>, Error> {
        let list = |client: &Client| {
            let client = client.clone();
            async move { client.resources(Some("vm")).await }
        };
        let resources = self.endpoints.any(list).await.map_err(|mut errors| {
            if errors.len() == 1 {
                return Error::Api(errors.remove(0));
            }
            let texts: Vec<String> = errors.iter().map(said).collect();
            Error::Unreachable(texts.join("; "))
        })?;
        // by vmid: one that moves between nodes may be listed twice
        let rows: BTreeMap<Vmid, Row> =
            resources.into_iter().filter_map(Row::new).map(|row| (row.vmid, row)).collect();
        Ok(rows.into_values().collect())
    }

    /// PVE lists no guest to one who may see none, without a word. That is said here: one without any
    /// right is nobody, and one with others has an inventory that is empty for this reason.
    async fn rights(&self) -> Result<Option<String>, Error> {
        let permissions = |client: &Client| {
            let client = client.clone();
            async move { client.permissions(None).await }
        };
        match self.endpoints.any(permissions).await {
            Ok(permissions) if permissions.is_empty() => {
                Err(Error::NoRights(self.endpoints.caller()))
            }
            Ok(permissions) if !shows_guests(permissions.paths("VM.Audit")) => {
                Ok(Some(blind(&self.endpoints.caller())))
            }
            _ => Ok(None),
        }
    }

    async fn guests(&self, rows: Vec<Row>, answer: &mut Answer) -> Vec<Row> {
        let mut outcomes = stream::iter(rows).map(|row| self.guest(row)).buffer_unordered(TOGETHER);
        let mut moved = Vec::new();
        while let Some(outcome) = outcomes.next().await {
            match outcome {
                Outcome::Guest(guest) => answer.guests.push(*guest),
                Outcome::Unwanted => {}
                Outcome::Moved(row) => moved.push(*row),
            }
        }
        moved
    }

    /// Looks once more where they are now: at the end of a migration a node may need a moment to know
    /// its new guest, and one that is in no list any more is gone.
    async fn again(&self, moved: Vec<Row>, answer: &mut Answer) -> Result<(), Error> {
        sleep(Duration::from_secs(1)).await;
        let mut now = self.list().await?;
        now.retain(|row| moved.iter().any(|old| old.vmid == row.vmid) && self.is_wanted(row));
        for row in self.guests(now, answer).await {
            answer.warnings.push(format!(
                "{} {} is in the cluster's list, and node {} does not have it",
                row.kind.noun(),
                row.vmid,
                row.node
            ));
        }
        Ok(())
    }

    /// Whether a row is wanted as far as it tells. One without a name is fresh, and says nothing about
    /// tags either.
    fn is_wanted(&self, row: &Row) -> bool {
        let filters = &self.config.filters.value;
        let (name, listed) = (row.resource.name.as_deref(), &row.resource.status);
        let its_tags = row.resource.tags.as_deref().or(name.map(|_| ""));
        let unsure = listed.is_empty() || listed == "unknown" || self.is_ours(row);
        (!row.resource.template || self.config.templates.value)
            && filters.wants(row, name, its_tags)
            && (unsure || filters.wants_status(listed))
    }

    async fn guest(&self, row: Row) -> Outcome {
        let (filters, templates) = (&self.config.filters.value, self.config.templates.value);
        let config = match self.config(&row).await {
            Ok(config) => Ok(config),
            Err(Some(error)) if error.is_gone() => return Outcome::Moved(Box::new(row)),
            Err(Some(error)) => Err(self.unread(&row, &error)),
            Err(None) => Err(self.down.borrow()[&row.node].1.clone()),
        };
        // a fresh row does not say that it is a template
        let template = row.resource.template || config.as_ref().is_ok_and(GuestConfig::is_template);
        let from_config = |key: &str| Some(config.as_ref().ok()?.get(key)?.to_owned());
        let its_name = config.as_ref().ok().and_then(|config| config.name().map(str::to_owned));
        let name = row.resource.name.clone().or(its_name);
        let its_tags =
            row.resource.tags.clone().or_else(|| from_config("tags")).unwrap_or_default();
        let status = self.status(&row, config.is_ok()).await;
        if template && !templates
            || !filters.wants(&row, name.as_deref().or(Some("")), Some(&its_tags))
            || !filters.wants_status(&status)
        {
            return Outcome::Unwanted;
        }
        let report = match &config {
            Err(reason) => Err(reason.clone()),
            Ok(_) if template => Err(Reason::new(ReasonKind::Template, "it is a template")),
            Ok(_) if status != "running" => {
                let text = format!("it does not run ({status})");
                Err(Reason::new(ReasonKind::NotRunning, text))
            }
            Ok(config) => self.report(&row, config).await,
        };
        let unknown = Reason::new(ReasonKind::Failed, "");
        let mut guest = Guest {
            cluster: self.index,
            kind: row.kind,
            vmid: row.vmid,
            node: row.node,
            name,
            status,
            pool: row.resource.pool.filter(|pool| !pool.is_empty()),
            tags: tags(&its_tags),
            template,
            ha: Vec::new(),
            config: config.map(|config| if self.whole { config } else { slim(&config) }),
            report,
            address: Err(unknown),
        };
        guest.address = guest.find_address(&self.config.policy.value).0;
        Outcome::Guest(Box::new(guest))
    }

    /// A guest's configuration; no error when its node was found to be down.
    async fn config(&self, row: &Row) -> Result<GuestConfig, Option<ApiError>> {
        let call = |client: &Client| {
            let (client, row) = (client.clone(), row.clone());
            async move {
                let node = client.node(&row.node);
                match row.kind {
                    GuestKind::Qemu => node.qemu(row.vmid).config(View::Current).await,
                    GuestKind::Lxc => node.lxc(row.vmid).config(View::Current).await,
                }
            }
        };
        let gate = async |client: &Client| {
            let times = self.down.borrow().get(&row.node).map_or(0, |(times, _)| *times);
            if times >= NODE_IS_DOWN { Ok(None) } else { call(client).await.map(Some) }
        };
        let config = self.endpoints.call(Ask::Cluster, &row.node, gate).await.map_err(Some)?;
        config.ok_or(None)
    }

    /// Why a configuration was not read; remembers nodes that do not answer.
    fn unread(&self, row: &Row, error: &ApiError) -> Reason {
        let reason = reason(error, row);
        if matches!(error, ApiError::MaybeSent { status: Some(_), .. }) {
            let mut down = self.down.borrow_mut();
            let (times, last) = down.entry(row.node.clone()).or_insert_with(|| (0, reason.clone()));
            *times += 1;
            *last = Reason::new(reason.kind, reason.text.replace("the outcome of ", ""));
        }
        reason
    }

    fn is_ours(&self, row: &Row) -> bool {
        !row.is_running() && self.specs.iter().any(|spec| means(spec, row))
    }

    /// What it does now. The list is up to 10 s old: for a guest that is newer than that, and for
    /// one with a spec that may have been started a moment ago, the node is asked.
    async fn status(&self, row: &Row, reachable: bool) -> String {
        let listed = &row.resource.status;
        let fresh = listed.is_empty() || listed == "unknown";
        if reachable && (fresh || self.is_ours(row)) {
            let call = |client: &Client| {
                let (client, row) = (client.clone(), row.clone());
                async move {
                    let node = client.node(&row.node);
                    match row.kind {
                        GuestKind::Qemu => node.qemu(row.vmid).status().await,
                        GuestKind::Lxc => node.lxc(row.vmid).status().await,
                    }
                }
            };
            if let Ok(status) = self.endpoints.call(Ask::Cluster, &row.node, call).await
                && !status.status.is_empty()
            {
                return status.status;
            }
        }
        if listed.is_empty() { "unknown".to_owned() } else { listed.clone() }
    }

    async fn report(&self, row: &Row, config: &GuestConfig) -> Result<Report, Reason> {
        if row.kind == GuestKind::Qemu {
            let agent = Agent::new(config.get("agent").unwrap_or_default());
            if !agent.enabled() {
                let text = "its agent is off (pve_vm: agent, or in the panel: Options)";
                return Err(Reason::new(ReasonKind::AgentOff, text));
            }
        }
        if let Some(ago) = self.silent.get(&row.vmid.get()) {
            let text = format!(
                "its agent did not answer {ago} s ago, and is left alone for {} s (silent_memory)",
                self.config.silent_memory.value
            );
            return Err(Reason::new(ReasonKind::AgentSilent, text));
        }
        let seconds = self.config.agent_timeout.value;
        // the deadline begins when it is the guest's turn
        let call = |client: &Client| {
            let (client, row) = (client.clone(), row.clone());
            async move {
                let node = client.node(&row.node);
                let call = async {
                    match row.kind {
                        GuestKind::Qemu => node.qemu(row.vmid).agent().network_interfaces().await,
                        GuestKind::Lxc => node.lxc(row.vmid).interfaces().await,
                    }
                };
                match timeout(Duration::from_secs(seconds.into()), call).await {
                    Ok(answer) => answer.map(Some),
                    Err(_) => Ok(None),
                }
            }
        };
        let answer: Option<Value> = self
            .endpoints
            .call(Ask::Agent, &row.node, call)
            .await
            .map_err(|error| reason(&error, row))?;
        let data = answer.ok_or_else(|| {
            let text = format!("its agent did not answer within {seconds} s (agent_timeout)");
            Reason::new(ReasonKind::AgentSilent, text)
        })?;
        serde_json::from_value(data)
            .map_err(|error| Reason::new(ReasonKind::Failed, format!("its answer is odd: {error}")))
    }
}

/// Whether a spec means this row, as far as the row tells.
fn means(spec: &Spec, row: &Row) -> bool {
    spec.vmid == Some(row.vmid) || row.resource.name.as_deref() == Some(&spec.name)
}

/// What address, groups and specs need of a configuration.
fn slim(config: &GuestConfig) -> GuestConfig {
    let needed = |key: &str| {
        matches!(key, "ostype" | "smbios1" | "searchdomain" | "ciuser")
            || key.parse::<NetSlot>().is_ok()
            || key.starts_with("ipconfig")
    };
    config.iter().filter(|(key, _)| needed(key)).collect()
}
