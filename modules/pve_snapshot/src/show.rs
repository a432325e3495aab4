//! What is shown: the snapshots before and after, and what is returned.

use ansible_module::Diff;
use pve_client::Snapshot;
use pve_types::{NodeName, Vmid};
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::Change;
use crate::found::Guest;
use crate::params::Params;
use crate::target::Session;

/// The snapshots before and after, and where the machine stands.
pub(crate) fn diff(guest: Option<&Guest>, plan: &[Change]) -> Vec<Diff> {
    let Some(guest) = guest.filter(|_| !plan.is_empty()) else { return Vec::new() };
    let mut after = guest.clone();
    for change in plan {
        carry_out(&mut after, change);
    }
    let header = format!("snapshots of {} on {}", guest.label(), guest.node);
    vec![Diff {
        before_header: header.clone(),
        after_header: header,
        before: text(guest),
        after: text(&after),
    }]
}

fn carry_out(guest: &mut Guest, change: &Change) {
    match change {
        Change::Take { name, description, memory, .. } => {
            guest.snapshots.push(Snapshot {
                name: name.clone(),
                description: description.clone(),
                parent: guest.here.replace(name.clone()),
                snaptime: None,
                vmstate: *memory,
                snapstate: None,
            });
        }
        Change::Describe { name, description, .. } => {
            for snapshot in guest.snapshots.iter_mut().filter(|there| there.name == *name) {
                snapshot.description = Some(description.clone());
            }
        }
        Change::Remove { name, .. } => {
            let parent = guest.snapshot(name).and_then(|snapshot| snapshot.parent.clone());
            guest.snapshots.retain(|snapshot| snapshot.name != *name);
            for child in &mut guest.snapshots {
                if child.parent.as_ref() == Some(name) {
                    child.parent.clone_from(&parent);
                }
            }
            if guest.here.as_ref() == Some(name) {
                guest.here = parent;
            }
        }
        Change::Rollback { name, runs, .. } => {
            guest.here = Some(name.clone());
            guest.status = if *runs { "running" } else { "stopped" }.to_owned();
        }
    }
}

fn text(guest: &Guest) -> String {
    let mut text = format!("status: {}\n", guest.status);
    for Snapshot { name, parent, vmstate, description, .. } in &guest.snapshots {
        text.push_str(name);
        if let Some(parent) = parent {
            text.push_str(&format!(" on {parent}"));
        }
        if *vmstate {
            text.push_str(", with memory");
        }
        let description = description.as_deref().unwrap_or_default().trim_end();
        if !description.is_empty() {
            text.push_str(&format!(": {}", description.replace('\n', "\\n")));
        }
        text.push('\n');
    }
    if let Some(here) = &guest.here {
        text.push_str(&format!("the machine stands on {here}\n"));
    }
    text
}

/// What is returned, as it was read last.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The number of the machine.
    pub(crate) vmid: Option<Vmid>,
    /// The node it is on.
    pub(crate) node: Option<NodeName>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// What it does: `running`, `stopped`, `paused`, or `absent`.
    pub(crate) status: String,
    /// The snapshot that was asked for.
    pub(crate) snapname: String,
    /// The machine's snapshots, the oldest first.
    pub(crate) snapshots: Vec<Row>,
    /// The snapshot that the machine stands on.
    pub(crate) parent: Option<String>,
    /// The tasks of PVE that this run started.
    pub(crate) upids: Vec<String>,
}

/// One snapshot.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Row {
    /// Its name.
    pub(crate) name: String,
    /// What it is for.
    pub(crate) description: Option<String>,
    /// The snapshot it was made on.
    pub(crate) parent: Option<String>,
    /// When it was made, in seconds since 1970.
    pub(crate) snaptime: Option<u64>,
    /// Whether it holds the memory.
    pub(crate) vmstate: bool,
}

/// What is returned.
pub(crate) fn returned(params: &Params, guest: Option<&Guest>, session: &Session) -> Returned {
    let row = |snapshot: &Snapshot| Row {
        name: snapshot.name.clone(),
        description: snapshot.description.clone().filter(|text| !text.is_empty()),
        parent: snapshot.parent.clone(),
        snaptime: snapshot.snaptime,
        vmstate: snapshot.vmstate,
    };
    Returned {
        vmid: guest.map(|guest| guest.vmid).or(params.vmid),
        node: guest.map(|guest| guest.node.clone()),
        name: guest.map(|guest| guest.name.clone()).or_else(|| params.name.clone()),
        status: guest.map_or_else(|| "absent".to_owned(), |guest| guest.status.clone()),
        snapname: params.snapname.clone(),
        snapshots: guest.into_iter().flat_map(|guest| &guest.snapshots).map(row).collect(),
        parent: guest.and_then(|guest| guest.here.clone()),
        upids: session.upids.clone(),
    }
}
