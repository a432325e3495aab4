//! What each kind of task needs to be allowed, from `docs/privileges.yml`, which the tests prove:
//! the table of the README, and the commands that make a token.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde::Deserialize;

use super::tables::between;
use crate::workspace::Workspace;

/// Privileges by path.
type Needs = BTreeMap<String, Vec<String>>;

/// What the documentation needs of a scenario.
#[derive(Debug, Deserialize)]
struct Scenario {
    does: String,
    program: String,
    needs: Needs,
    #[serde(default)]
    pve8: Needs,
    #[serde(default)]
    pve9: Needs,
}

/// The parts of a page, by the names of their markers.
pub(super) fn pages(
    workspace: &Workspace,
    written: &BTreeMap<PathBuf, Option<String>>,
) -> Result<Vec<(PathBuf, String)>> {
    let data = workspace.path("docs/privileges.yml");
    let Ok(text) = std::fs::read_to_string(&data) else { return Ok(Vec::new()) };
    let scenarios: Vec<Scenario> =
        serde_yaml_ng::from_str(&text).with_context(|| data.display().to_string())?;
    let mut pages = Vec::new();
    for (page, what, part) in [
        ("README.md", "privileges", table(&scenarios)),
        ("docs/token.md", "pveum", commands(&scenarios)),
    ] {
        let path = workspace.path(page);
        let text = match written.get(&path) {
            Some(Some(text)) => text.clone(),
            _ => std::fs::read_to_string(&path).unwrap_or_default(),
        };
        if let Some(text) = between(&text, what, &part) {
            pages.push((path, text));
        }
    }
    Ok(pages)
}

/// A path as a reader fills it in: `/vms/VMID`.
fn place(path: &str) -> String {
    path.split('/')
        .map(|part| match part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) {
            Some(name) => name.to_uppercase(),
            None => part.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("/")
}

fn table(scenarios: &[Scenario]) -> String {
    let mut table = "| to | with | is needed |\n| --- | --- | --- |\n".to_owned();
    for scenario in scenarios {
        let mut places: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (needs, note) in
            [(&scenario.needs, ""), (&scenario.pve9, " (PVE 9)"), (&scenario.pve8, " (PVE 8)")]
        {
            for (path, names) in needs {
                let names = names.iter().map(|name| format!("{name}{note}"));
                places.entry(place(path)).or_default().extend(names);
            }
        }
        let cells: Vec<String> =
            places.iter().map(|(path, names)| format!("`{path}`: {}", names.join(", "))).collect();
        let (does, program) = (&scenario.does, &scenario.program);
        table.push_str(&format!("| {does} | `{program}` | {} |\n", cells.join("<br>")));
    }
    table
}

/// What a role is for, where it is granted, and what in the data belongs to it.
const ROLES: [(&str, &str, &str); 4] = [
    ("FerriteVM", "/vms", "/vms/"),
    ("FerriteStorage", "/storage/STORAGE", "/storage/"),
    ("FerriteNode", "/nodes", "/nodes/"),
    ("FerriteNetwork", "/sdn/zones/localnetwork", "/sdn/"),
];

fn commands(scenarios: &[Scenario]) -> String {
    let mut text = String::new();
    for (version, special) in [(9, true), (8, false)] {
        text.push_str(&format!(
            "\nOn PVE {version}:\n\n```console\n# pveum user add ansible@pve\n"
        ));
        for (role, path, below) in ROLES {
            let names: BTreeSet<&str> = scenarios
                .iter()
                .flat_map(|one| one.needs.iter().chain(if special { &one.pve9 } else { &one.pve8 }))
                .filter(|(path, _)| path.starts_with(below))
                .flat_map(|(_, names)| names.iter().map(String::as_str))
                .collect();
            let names = names.into_iter().collect::<Vec<_>>().join(" ");
            text.push_str(&format!(
                "# pveum role add {role} -privs \"{names}\"\n\
                 # pveum acl modify {path} -user ansible@pve -role {role}\n"
            ));
        }
        text.push_str("# pveum user token add ansible@pve ferrite -privsep 0\n```\n");
    }
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATA: &str = "
- does: read it
  program: pve_vm
  before: machine
  options: {}
  needs: {'/vms/{vmid}': [VM.Audit], '/storage/{storage}': [Datastore.Audit], '/': [Sys.Modify]}
  pve9: {'/vms/{vmid}': [VM.GuestAgent.Audit]}
  pve8: {'/vms/{vmid}': [VM.Monitor]}
";

    #[test]
    fn what_is_needed_becomes_a_row_and_commands() {
        let scenarios: Vec<Scenario> = serde_yaml_ng::from_str(DATA).unwrap();
        let row = "| read it | `pve_vm` | `/`: Sys.Modify<br>`/storage/STORAGE`: \
                   Datastore.Audit<br>`/vms/VMID`: VM.Audit, VM.GuestAgent.Audit (PVE 9), \
                   VM.Monitor (PVE 8) |\n";
        assert!(table(&scenarios).ends_with(row), "{}", table(&scenarios));
        let commands = commands(&scenarios);
        let (nine, eight) = commands.split_once("On PVE 8:").unwrap();
        assert!(nine.contains("role add FerriteVM -privs \"VM.Audit VM.GuestAgent.Audit\""));
        assert!(eight.contains("role add FerriteVM -privs \"VM.Audit VM.Monitor\""), "{eight}");
        assert!(!commands.contains("Sys.Modify"), "{commands}");
    }
}
