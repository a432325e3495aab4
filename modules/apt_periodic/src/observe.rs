//! Reads the file and what is in force, and tries the candidate as part of the whole.

use std::path::{Path, PathBuf};

use managed_node::{Attributes, Command, Kind, Node, Saved};

use crate::config::{self, Settings};
use crate::error::Error;
use crate::params::{Params, State};

const PARTS: &str = "/etc/apt/apt.conf.d";
/// Read after the parts, so that it outranks them all.
const MAIN: &str = "/etc/apt/apt.conf";
const STAGING: &str = "/run/ferrite-apt-periodic";

/// The file, and what holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The file's text.
    pub(crate) text: Option<String>,
    /// Whether somebody else than root can write it, or it is a link to a file that is not ours.
    pub(crate) open: bool,
    /// What is in force now.
    pub(crate) effective: Settings,
    /// Settings that are not, or would not be, in force.
    pub(crate) overridden: Vec<String>,
}

pub(crate) fn path(params: &Params) -> PathBuf {
    Path::new(PARTS).join(&params.file)
}

pub(crate) fn observe(params: &Params, node: &Node) -> Result<Found, Error> {
    let text = node.read_text_if_any(path(params))?;
    let saved = node.save(path(params))?;
    let open = matches!(saved, Saved::Link(_)) || !saved.is_roots_alone();
    let wanted = config::text(params);
    let unchanged = text.as_deref() == Some(&wanted);
    let dump = Command::new("apt-config").arg("dump");
    let output = node.run(&dump)?;
    if !output.success() {
        let ours = text.is_some() && output.stderr.contains(&path(params).display().to_string());
        if !ours {
            return Err(Error::BrokenBefore { complaint: output.complaint().to_owned() });
        }
    }
    let mut found =
        Found { text, open, effective: config::parse(&output.stdout), overridden: Vec::new() };
    if params.state == State::Absent {
        return Ok(found);
    }
    let effective = if unchanged {
        found.effective.clone()
    } else {
        staged(node, |folder| candidate(params, node, folder, &wanted))?
    };
    found.overridden = config::overridden(params, &effective, &[]);
    if !found.overridden.is_empty() {
        let files = staged(node, |folder| others(params, node, folder))?;
        found.overridden = config::overridden(params, &effective, &files);
    }
    Ok(found)
}

/// Works in a folder that nobody else sees where the kernel allows that, and that is removed.
fn staged<T>(node: &Node, work: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
    node.with_private_run(|_| {
        let folder = PathBuf::from(format!("{STAGING}-{}", std::process::id()));
        node.make_folder(folder.join("parts"), 0o755)?;
        let result = work(&folder);
        node.remove_tree(&folder)?;
        result
    })
}

/// What apt makes of all files together with the candidate.
fn candidate(params: &Params, node: &Node, folder: &Path, text: &str) -> Result<Settings, Error> {
    let parts = folder.join("parts");
    for (name, content) in files(node)? {
        node.replace(parts.join(name), &content, Attributes::default())?;
    }
    node.replace(parts.join(&params.file), text.as_bytes(), Attributes::default())?;
    let start = format!("Dir::Etc::parts \"{}\";\n", parts.display());
    let output = node.run(&started_with(node, folder, &start)?.arg("dump"))?;
    if output.success() {
        return Ok(config::parse(&output.stdout));
    }
    let real = Path::new(PARTS).display().to_string();
    let complaint = output.complaint().replace(&parts.display().to_string(), &real);
    Err(Error::Candidate { complaint })
}

/// What each of the other files sets, in the order in which apt reads them.
fn others(params: &Params, node: &Node, folder: &Path) -> Result<Vec<(String, Settings)>, Error> {
    let mut paths: Vec<String> = files(node)?
        .into_iter()
        .filter(|(name, _)| *name != params.file)
        .map(|(name, _)| format!("{PARTS}/{name}"))
        .collect();
    if node.exists(MAIN) {
        paths.push(MAIN.to_owned());
    }
    let alone = "Dir::Etc::parts \"/dev/null\";\nDir::Etc::main \"/dev/null\";\n";
    let mut others = Vec::new();
    for path in paths {
        let command = started_with(node, folder, alone)?.args(["-c", &path, "dump"]);
        let output = node.run(&command)?.check(&command)?;
        others.push((path, config::parse(&output.stdout)));
    }
    Ok(others)
}

/// apt-config with a file that it reads before all others, which can move those elsewhere.
fn started_with(node: &Node, folder: &Path, text: &str) -> Result<Command, Error> {
    let start = folder.join("start.conf");
    node.replace(&start, text.as_bytes(), Attributes::default())?;
    Ok(Command::new("apt-config").env("APT_CONFIG", start.display().to_string()))
}

/// The files that apt reads, by name, with what is in them.
fn files(node: &Node) -> Result<Vec<(String, Vec<u8>)>, Error> {
    let mut files = Vec::new();
    for entry in node.list(PARTS)? {
        let file = matches!(entry.kind, Kind::File | Kind::Link(_));
        if file && config::readable(&entry.name) {
            match node.read(Path::new(PARTS).join(&entry.name)) {
                Ok(content) => files.push((entry.name, content)),
                // a link to nothing
                Err(error) if error.is_absent() => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
    files.sort_unstable();
    Ok(files)
}
