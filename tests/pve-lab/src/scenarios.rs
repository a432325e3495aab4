//! What each kind of task needs to be allowed, and the proof of it.
//!
//! The list is data (`docs/privileges.yml`), and the documentation is made of it. Each program's own
//! tests run its scenarios.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::lab::Lab;
use crate::log::Request;
use crate::shared::PveVersion;

/// Privileges by path.
type Needs = BTreeMap<String, Vec<String>>;

/// One kind of task.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// What it does, in words.
    pub does: String,
    /// Which program does it.
    pub program: String,
    /// What is there already.
    pub before: String,
    /// The options of the task.
    pub options: Value,
    /// Whether nothing is changed by it.
    #[serde(default)]
    pub reads: bool,
    needs: Needs,
    #[serde(default)]
    pve8: Needs,
    #[serde(default)]
    pve9: Needs,
}

/// The scenarios of one program. Panics if the list cannot be read: this is for tests.
#[must_use]
pub fn scenarios(program: &str) -> Vec<Scenario> {
    let text = include_str!("../../../docs/privileges.yml");
    #[expect(clippy::expect_used, reason = "a list that cannot be read proves nothing")]
    let all: Vec<Scenario> = serde_yaml_ng::from_str(text).expect("docs/privileges.yml is a list");
    let ours: Vec<Scenario> = all.into_iter().filter(|one| one.program == program).collect();
    assert!(!ours.is_empty(), "docs/privileges.yml has nothing of {program}");
    ours
}

fn place(path: &str) -> String {
    let names = [
        ("{vmid}", "201"),
        ("{template}", "900"),
        ("{source}", "900"),
        ("{tag}", "7"),
        ("{storage}", "local"),
        ("{target}", "fast"),
        ("{pool}", "prod"),
        ("{bridge}", "vmbr0"),
        ("{node}", "pve1"),
    ];
    names.iter().fold(path.to_owned(), |path, (name, value)| path.replace(name, value))
}

impl Scenario {
    /// The privileges that it needs, each with its path.
    #[must_use]
    pub fn needs(&self, version: PveVersion) -> Vec<(String, String)> {
        let special = if version == PveVersion::V8 { &self.pve8 } else { &self.pve9 };
        let all = self.needs.iter().chain(special);
        all.flat_map(|(path, names)| names.iter().map(|name| (place(path), name.clone()))).collect()
    }

    /// Runs it with one privilege less than it needs, once for each: that must be refused before
    /// anything is changed, in words that name the privilege (of what may not be seen nobody knows
    /// more than that). Then runs it with all of them, which must do. `bench` makes a lab with what the
    /// scenario begins with; `run` is called with one and a token's id and secret, and gives the
    /// reason if it was refused.
    ///
    /// Returns what is otherwise.
    #[must_use]
    pub fn prove<B: AsRef<Lab>>(
        &self,
        version: PveVersion,
        bench: impl Fn() -> B,
        run: impl Fn(&B, &str, &str) -> Result<(), String>,
    ) -> Vec<String> {
        let needs = self.needs(version);
        let id = "exactly@pve!this";
        let mut wrong = Vec::new();
        let new = bench;
        let mut bench = new();
        for (path, name) in &needs {
            let rest: Vec<_> =
                needs.iter().filter(|need| (&need.0, &need.1) != (path, name)).collect();
            let secret = give(bench.as_ref(), id, &rest);
            bench.as_ref().clear_requests();
            let message = run(&bench, id, &secret).err().unwrap_or_default();
            let unseen = ["may not see", "caller may see", "no privilege"]
                .iter()
                .any(|text| message.contains(text));
            let what = format!("to {} without {name} on {path} ({version:?})", self.does);
            if bench.as_ref().requests().iter().any(Request::is_write) {
                wrong.push(format!("{what} something was written: {message}"));
                bench = new();
            }
            if !(message.contains(name) || name == "VM.Audit" && unseen) {
                wrong.push(format!("{what} it is not said what is missing: {message:?}"));
            }
        }
        let secret = give(bench.as_ref(), id, &needs.iter().collect::<Vec<_>>());
        if let Err(message) = run(&bench, id, &secret) {
            wrong.push(format!("to {} with {needs:?} ({version:?}): {message}", self.does));
        }
        wrong
    }
}

/// A token with these, and its secret.
fn give(lab: &Lab, id: &str, needs: &[&(String, String)]) -> String {
    let mut by_path: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (path, name) in needs {
        by_path.entry(path).or_default().push(name);
    }
    let grants: Vec<(&str, &[&str])> =
        by_path.iter().map(|(path, names)| (*path, names.as_slice())).collect();
    lab.add_token(id, &grants)
}
