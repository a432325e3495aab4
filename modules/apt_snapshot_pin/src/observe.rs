//! Reads sources, memory and lists, and tries a pin that is not in force yet on a private copy.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ansible_module::Run;
use managed_node::{Kind, Lock, Node};

use crate::apt::AptConfig;
use crate::archive::Release;
use crate::error::Error;
use crate::lists;
use crate::memory::{Memory, to_text};
use crate::params::{Method, Newer, Params, State};
use crate::pinning::{self, Facts, Pinning, SourceFile};
use crate::sources::{self, Form};
use crate::staging::{self, Staging};
use crate::standing;
use crate::trial;

/// The node, and what a run keeps between its steps.
#[derive(Debug)]
pub(crate) struct Target {
    pub(crate) node: Node,
    pub(crate) run: Run,
    pub(crate) staging: Option<Staging>,
    pub(crate) newer: Vec<Newer>,
    pub(crate) locks: Vec<Lock>,
    pub(crate) journal: crate::apply::Journal,
}

/// What is there, and what has to be.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) apt: AptConfig,
    pub(crate) method: Method,
    pub(crate) memory: Option<Memory>,
    pub(crate) wanted_memory: Option<Memory>,
    /// The files that differ: now, and as they have to be.
    pub(crate) files: BTreeMap<String, (Option<String>, Option<String>)>,
    pub(crate) pinning: Pinning,
    pub(crate) lists: Lists,
}

/// How the package lists stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lists {
    /// Not looked at: `update` is off, or there is nothing to pin.
    NotAsked,
    /// Every index comes from where it has to.
    InForce,
    /// The right ones were fetched into the private copy.
    Staged,
}

/// The file that tells apt where snapshots of hosts are; only apt's own method needs it.
const HOSTS: &str = "95ferrite_snapshot_pin";

pub(crate) fn observe(params: &Params, target: &mut Target) -> Result<Found, Error> {
    // a copy of an earlier look is of no use any more
    target.staging = None;
    let node = target.node.clone();
    let apt = AptConfig::read(&node)?;
    let memory = Memory::read(&node)?;
    let current = current(&node, &apt)?;
    let bases = bases(memory.as_ref(), &current);
    let mut found = match (params.state, &params.snapshot_id) {
        (State::Present, Some(id)) => {
            let method = match params.method {
                Method::Native if !apt.native => return Err(Error::NoNative),
                Method::Native => Method::Native,
                Method::Auto | Method::Rewrite => Method::Rewrite,
            };
            let facts = facts(params, target, &apt, memory.as_ref(), &bases)?;
            if pinning::entries(&bases).is_empty() {
                let places = [apt.source_list.as_path(), &apt.source_parts];
                let places = places.map(|path| path.display().to_string()).join(" and ");
                return Err(Error::NoSources { places });
            }
            let mut pinning = pinning::pin(params, id, method, &bases, &facts)?;
            pinning.standing = standing::find(params, &bases);
            if !pinning.standing.is_empty() {
                target.run.warn(format!(
                    "state absent will not be able to undo the pin of sources that were a snapshot \
                     already, as what they were before is not remembered: {}",
                    pinning.standing.join("; ")
                ));
            }
            let texts = pinning.texts.iter();
            let mut wanted = inserted(texts.map(|(path, text)| (path.clone(), Some(text.clone()))));
            wanted.insert(hosts_path(&apt), hosts_text(&pinning));
            let (same, changed): (Vec<&SourceFile>, Vec<&SourceFile>) =
                bases.iter().partition(|file| pinning.texts.get(&file.path) == Some(&file.text));
            let beside =
                inserted(same.into_iter().map(|file| (file.path.clone(), file.text.clone())));
            let files = inserted(changed.into_iter().map(|file| {
                let placed = pinning.texts.get(&file.path).cloned().unwrap_or_default();
                let original = Some(file.text.clone());
                (file.path.clone(), crate::memory::Remembered { original, placed })
            }));
            let kept = |uri: &String| pinning.from.contains(uri);
            let releases = inserted(facts.releases.into_iter().filter(|(uri, _)| kept(uri)));
            let snapshot_id = id.clone();
            let wanted_memory = Some(Memory { snapshot_id, method, files, beside, releases });
            Found {
                files: differing(&current, wanted),
                apt,
                method,
                memory,
                wanted_memory,
                pinning,
                lists: Lists::NotAsked,
            }
        }
        _ => {
            let mut wanted = restored(memory.as_ref(), &current, &bases);
            wanted.insert(hosts_path(&apt), None);
            let mut pinning = trial::unpinned(&bases);
            pinning.standing = standing::find(params, &left(&bases, &wanted));
            Found {
                files: differing(&current, wanted),
                method: Method::Auto,
                wanted_memory: None,
                pinning,
                apt,
                memory,
                lists: Lists::NotAsked,
            }
        }
    };
    let back = found.memory.is_some() && found.pinning.standing.is_empty();
    let asked = params.update && found.pinning.refused.is_empty();
    if asked && (params.state == State::Present || back) {
        found.lists = trial::lists(params, target, &found, &bases)?;
    }
    Ok(found)
}

/// Seconds since 1970, by the node's clock.
pub(crate) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

pub(crate) fn hosts_path(apt: &AptConfig) -> String {
    apt.conf_parts.join(HOSTS).display().to_string()
}

pub(crate) fn hosts_text(pinning: &Pinning) -> Option<String> {
    if pinning.hosts.is_empty() {
        return None;
    }
    let lines = pinning
        .hosts
        .iter()
        .map(|(host, template)| format!("Acquire::Snapshots::URI::Host::{host} \"{template}\";\n"));
    let head = "// Where apt finds snapshots. Written by Ansible (ferrite.pve.apt_snapshot_pin).\n";
    Some(std::iter::once(head.to_owned()).chain(lines).collect())
}

/// The text of a file now.
pub(crate) fn text(node: &Node, path: &str) -> Result<Option<String>, Error> {
    match node.read(path) {
        Ok(bytes) => Ok(Some(to_text(&bytes))),
        Err(error) if error.is_absent() => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Every file that apt reads sources from, and ours in apt.conf.d.
fn current(node: &Node, apt: &AptConfig) -> Result<BTreeMap<String, String>, Error> {
    let mut paths = vec![apt.source_list.clone(), Path::new(&hosts_path(apt)).to_owned()];
    for entry in node.list(&apt.source_parts)? {
        if Form::of(&entry.name).is_some() && matches!(entry.kind, Kind::File | Kind::Link(_)) {
            paths.push(apt.source_parts.join(entry.name));
        }
    }
    let mut current = BTreeMap::new();
    for path in paths {
        let path = path.display().to_string();
        if let Some(text) = text(node, &path)? {
            current.insert(path, text);
        }
    }
    Ok(current)
}

fn form(path: &str) -> Option<Form> {
    Form::of(path.rsplit('/').next()?)
}

/// The files as they were before the pin.
fn bases(memory: Option<&Memory>, current: &BTreeMap<String, String>) -> Vec<SourceFile> {
    current
        .iter()
        .filter_map(|(path, text)| {
            let form = form(path)?;
            let text = match memory.and_then(|memory| memory.files.get(path)) {
                Some(remembered) => sources::undo(
                    form,
                    text,
                    &remembered.placed,
                    remembered.original.as_deref().unwrap_or_default(),
                ),
                None => text.clone(),
            };
            Some(SourceFile { path: path.clone(), form, text })
        })
        .collect()
}

/// The files as they have to be without a pin: undone, and those brought back that are gone.
fn restored(
    memory: Option<&Memory>,
    current: &BTreeMap<String, String>,
    bases: &[SourceFile],
) -> BTreeMap<String, Option<String>> {
    let Some(memory) = memory else { return BTreeMap::new() };
    let undone = bases.iter().map(|file| (file.path.clone(), Some(file.text.clone())));
    let gone = memory.files.iter().filter(|(path, _)| !current.contains_key(*path));
    inserted(undone.chain(gone.map(|(path, file)| (path.clone(), file.original.clone()))))
}

/// The files as they will be without a pin, with those that are brought back.
fn left(bases: &[SourceFile], wanted: &BTreeMap<String, Option<String>>) -> Vec<SourceFile> {
    let mut left = bases.to_vec();
    for (path, text) in wanted {
        if let (Some(form), Some(text)) = (form(path), text)
            && !bases.iter().any(|file| file.path == *path)
        {
            left.push(SourceFile { path: path.clone(), form, text: text.clone() });
        }
    }
    left
}

fn differing(
    current: &BTreeMap<String, String>,
    wanted: BTreeMap<String, Option<String>>,
) -> BTreeMap<String, (Option<String>, Option<String>)> {
    let pairs = wanted
        .into_iter()
        .map(|(path, wanted)| (path.clone(), (current.get(&path).cloned(), wanted)));
    inserted(pairs.filter(|(_, (now, wanted))| now != wanted))
}

/// As `collect` does it, without a sort for each type of value: those were 2 % of the program,
/// which is copied to the node for each task.
fn inserted<V>(pairs: impl Iterator<Item = (String, V)>) -> BTreeMap<String, V> {
    let mut map = BTreeMap::new();
    for (key, value) in pairs {
        map.insert(key, value);
    }
    map
}

/// What the Release files of mirrors and the files of mirrors say.
fn facts(
    params: &Params,
    target: &Target,
    apt: &AptConfig,
    memory: Option<&Memory>,
    bases: &[SourceFile],
) -> Result<Facts, Error> {
    let node = &target.node;
    let mut facts = Facts {
        releases: memory.map(|memory| memory.releases.clone()).unwrap_or_default(),
        mirrors: BTreeMap::new(),
    };
    let entries = pinning::entries(bases);
    let in_use: Vec<&String> = entries.iter().flat_map(|(_, entry)| &entry.uris).collect();
    facts.releases.retain(|uri, _| in_use.contains(&uri));
    let mut unknown = BTreeSet::new();
    for (_, entry) in &entries {
        for uri in &entry.uris {
            if let Some(path) = uri.strip_prefix("mirror+file:") {
                let path = format!("/{}", path.trim_start_matches('/'));
                let text = node.read_text_if_any(path)?.unwrap_or_default();
                if let Some(mirror) = first_mirror(&text) {
                    facts.mirrors.insert(uri.clone(), mirror);
                }
            }
            let real = facts.mirrors.get(uri).unwrap_or(uri);
            let Some(id) = &params.snapshot_id else { continue };
            let known = crate::archive::pin(real, facts.releases.get(uri), &params.servers, id);
            if known.is_ok() || crate::archive::host(real).is_none() {
                continue;
            }
            let cached = entry
                .suites
                .iter()
                .find_map(|suite| staging::release(node, &apt.lists, uri, suite));
            match cached {
                Some(text) => {
                    facts.releases.insert(uri.clone(), Release::parse(&text));
                }
                None => {
                    unknown.insert(uri.clone());
                }
            }
        }
    }
    if !unknown.is_empty() {
        facts.releases.extend(trial::learn(params, target, apt, bases, &unknown)?);
    }
    Ok(facts)
}

fn first_mirror(text: &str) -> Option<String> {
    text.lines()
        .map(|line| line.split('#').next().unwrap_or_default())
        .find_map(|line| line.split_whitespace().next().map(ToOwned::to_owned))
}

/// Whether the real lists are those of the pin.
pub(crate) fn in_force(node: &Node, found: &Found) -> Result<Vec<String>, Error> {
    let indexes = staging::indexes(node, None)?;
    Ok(lists::missing(
        &found.pinning.expected,
        &indexes,
        &found.apt.architectures,
        &|path| node.exists(path),
        &|uri, suite| staging::release(node, &found.apt.lists, uri, suite),
    ))
}

#[cfg(test)]
mod tests;
