//! Reads what dpkg has, and lets apt-get simulate what is missing.

use std::time::Duration;

use managed_node::{Command, Kind, Node};
use serde_json::Value;

use crate::error::Error;
use crate::package::{self, FORMAT, Installed, Wanted};
use crate::params::{Params, State};
use crate::simulation::{self, Step};

/// Where the pin keeps what it wrote.
const PIN: &str = "/var/lib/ferrite/apt_snapshot_pin/memory.json";
/// Half-written records of dpkg; there are some only after it was killed.
const UPDATES: &str = "/var/lib/dpkg/updates";

/// The state of the packages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) installed: Installed,
    /// Why dpkg is not at rest, if it is not.
    pub(crate) interrupted: Option<String>,
    /// Why the sources are not pinned, if that is asked for.
    pub(crate) unpinned: Option<String>,
    /// What is not as it is asked for.
    pub(crate) left: Vec<Wanted>,
    /// What apt would do about it.
    pub(crate) steps: Vec<Step>,
}

pub(crate) fn observe(params: &Params, node: &Node) -> Result<Found, Error> {
    let query = Command::new("dpkg-query").args(["-W", "-f", FORMAT]);
    let installed = Installed::parse(&node.run(&query)?.check(&query)?.stdout);
    let interrupted = interrupted(&installed, node)?;
    let left: Vec<Wanted> = package::all(&params.name)?
        .into_iter()
        .filter(|wanted| installed.has(wanted) == (params.state == State::Absent))
        .collect();
    let mut found = Found { installed, interrupted, left, ..Found::default() };
    if params.require_pin && params.state == State::Present {
        found.unpinned = unpinned(node)?;
    }
    // a dpkg that is not at rest makes apt refuse everything, so that there is nothing to learn
    if !found.left.is_empty() && found.interrupted.is_none() {
        found.steps = simulate(params, &found.left, node)?;
    }
    Ok(found)
}

fn interrupted(installed: &Installed, node: &Node) -> Result<Option<String>, Error> {
    let updates = node.list(UPDATES)?;
    let numbered = |name: &str| name.chars().all(|c| c.is_ascii_digit());
    if updates.iter().any(|entry| numbered(&entry.name)) {
        return Ok(Some(format!("{UPDATES} is not empty")));
    }
    if installed.half.is_empty() {
        return Ok(None);
    }
    Ok(Some(format!("half installed: {}", installed.half.join(", "))))
}

/// Whether every file of sources still is as the pin left it, and none was added since.
fn unpinned(node: &Node) -> Result<Option<String>, Error> {
    let Some(text) = node.read_text_if_any(PIN)? else {
        return Ok(Some("there is no pin on this node".to_owned()));
    };
    let memory: Value = serde_json::from_str(&text).unwrap_or_default();
    let Some(files) = memory["files"].as_object().filter(|files| !files.is_empty()) else {
        return Ok(Some(format!("{PIN} is not readable")));
    };
    // the pin keeps bytes as characters of the same number
    let text = |path: &str| -> Result<String, Error> {
        match node.read(path) {
            Ok(bytes) => Ok(bytes.into_iter().map(char::from).collect()),
            Err(error) if error.is_absent() => Ok(String::new()),
            Err(error) => Err(error.into()),
        }
    };
    for (path, file) in files {
        if file["placed"].as_str() != Some(text(path)?.as_str()) {
            return Ok(Some(format!("{path} was changed since")));
        }
    }
    for path in source_files(node)? {
        match memory["beside"][&path].as_str() {
            _ if files.contains_key(&path) => {}
            None => return Ok(Some(format!("{path} was added since"))),
            Some(then) if then != text(&path)? => {
                return Ok(Some(format!("{path} was changed since")));
            }
            Some(_) => {}
        }
    }
    Ok(None)
}

/// Every file that apt reads sources from, wherever its configuration says that they are.
fn source_files(node: &Node) -> Result<Vec<String>, Error> {
    let ask = Command::new("apt-config").args(["shell", "list", "Dir::Etc::sourcelist/f"]);
    let ask = ask.args(["parts", "Dir::Etc::sourceparts/d"]);
    let said = node.run(&ask)?.check(&ask)?.stdout;
    let value = |name: &str| {
        let start = format!("{name}='");
        let line = said.lines().find_map(|line| line.strip_prefix(start.as_str()));
        line.and_then(|line| line.strip_suffix('\'')).unwrap_or_default().to_owned()
    };
    let mut files: Vec<String> =
        Some(value("list")).into_iter().filter(|list| node.exists(list)).collect();
    let parts = value("parts");
    let parts = parts.trim_end_matches('/');
    let read = |name: &str| {
        let readable = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
        !name.starts_with('.')
            && name.chars().all(readable)
            && (name.ends_with(".list") || name.ends_with(".sources"))
    };
    for entry in node.list(parts)?.into_iter().filter(|entry| read(&entry.name)) {
        let path = format!("{parts}/{}", entry.name);
        // a link to nothing, or something else than a file: apt reads nothing there
        if matches!(entry.kind, Kind::File | Kind::Link(_)) && node.exists(&path) {
            files.push(path);
        }
    }
    Ok(files)
}

fn simulate(params: &Params, left: &[Wanted], node: &Node) -> Result<Vec<Step>, Error> {
    let command = apt_get(params, left).arg("--simulate");
    let output = node.run(&command)?;
    if output.success() {
        let steps = simulation::parse(&output.stdout);
        return match left.iter().find(|wanted| wanted.is_taken_for_another(&steps)) {
            None => Ok(steps),
            Some(wanted) => Err(Error::Refused {
                what: what(params, left),
                complaint: format!("E: Unable to locate package {}", wanted.name),
            }),
        };
    }
    Err(Error::Refused {
        what: what(params, left),
        complaint: complaint(&output.stdout, &output.stderr),
    })
}

/// The command that does it; with `--simulate` it only tells.
pub(crate) fn apt_get(params: &Params, packages: &[Wanted]) -> Command {
    let verb = match (params.state, params.purge) {
        (State::Present, _) => "install",
        (State::Absent, false) => "remove",
        (State::Absent, true) => "purge",
    };
    let mut command = base().args(["-q", "-y", verb]);
    if let Some(recommends) = params.install_recommends {
        command = command.args(["-o", &format!("APT::Install-Recommends={recommends}")]);
    }
    if params.allow_downgrade {
        command = command.arg("--allow-downgrades");
    }
    command.args(packages.iter().map(Wanted::argument))
}

/// apt-get without questions: configuration files that were edited stay.
pub(crate) fn base() -> Command {
    Command::new("apt-get")
        .env("DEBIAN_FRONTEND", "noninteractive")
        .env("APT_LISTCHANGES_FRONTEND", "none")
        .env("NEEDRESTART_SUSPEND", "1")
        .args(["-o", "Dpkg::Options::=--force-confdef"])
        .args(["-o", "Dpkg::Options::=--force-confold"])
        .timeout(Duration::from_secs(3600))
}

pub(crate) fn what(params: &Params, packages: &[Wanted]) -> String {
    let verb = match params.state {
        State::Present => "install",
        State::Absent => "remove",
    };
    let names: Vec<String> = packages.iter().map(Wanted::argument).collect();
    format!("{verb} {}", names.join(", "))
}

/// apt's errors in full: what it explains on standard output comes before what it concludes.
pub(crate) fn complaint(stdout: &str, stderr: &str) -> String {
    let explained = stdout
        .lines()
        .skip_while(|line| !line.starts_with("The following packages have unmet dependencies"));
    let told = stdout.lines().filter(|line| line.starts_with("E: ") || line.starts_with("dpkg: "));
    let lines: Vec<&str> = explained
        .chain(told)
        .chain(stderr.lines())
        .map(str::trim_end)
        .filter(|line| !line.is_empty() && !line.starts_with("N: "))
        .collect();
    if lines.is_empty() { "it gave no reason".to_owned() } else { lines.join("\n") }
}
