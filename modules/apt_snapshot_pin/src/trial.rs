//! The proof: apt itself fetches and verifies the pinned sources into a private copy.

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt;

use managed_node::Node;

use crate::apt::{AptConfig, apt_cache};
use crate::archive::{self, Release};
use crate::error::Error;
use crate::lists;
use crate::newer;
use crate::observe::{Found, Lists, Target, hosts_text, in_force};
use crate::params::{Method, Params, SourceReport, State};
use crate::pinning::{self, Expected, Pinning, SourceFile};
use crate::staging::Staging;
use crate::standing;

/// Room that is left beside the lists, for apt's caches and everything else.
const MARGIN: u64 = 16 << 20;

/// Looks whether the lists are right, and fetches the right ones into a private copy if not.
pub(crate) fn lists(
    params: &Params,
    target: &mut Target,
    found: &Found,
    bases: &[SourceFile],
) -> Result<Lists, Error> {
    let node = target.node.clone();
    if params.state == State::Present
        && found.files.is_empty()
        && in_force(&node, found)?.is_empty()
    {
        return Ok(Lists::InForce);
    }
    let texts = bases.iter().map(|file| {
        let text = found.pinning.texts.get(&file.path).unwrap_or(&file.text);
        (file.path.as_str(), text.as_str())
    });
    let hosts = hosts_text(&found.pinning).unwrap_or_default();
    let staging = Staging::new(&node, &found.apt, texts, &hosts)?;
    let failed = fetch(&node, &found.apt, &staging, &found.pinning, found.method)?;
    if failed.is_empty() {
        if params.state == State::Present {
            target.newer = newer::read(&node, Some(&staging.config()))?;
        }
        target.staging = Some(staging);
        return Ok(Lists::Staged);
    }
    let list = failed.join("; ");
    match &params.snapshot_id {
        Some(id) if params.state == State::Present => {
            Err(Error::Trial { id: id.to_string(), list })
        }
        _ => {
            // the way back is not barred by a live archive that does not answer
            target.run.warn(format!("the package lists were left as they are: {list}"));
            Ok(Lists::NotAsked)
        }
    }
}

fn fetch(
    node: &Node,
    apt: &AptConfig,
    staging: &Staging,
    pinning: &Pinning,
    method: Method,
) -> Result<Vec<String>, Error> {
    let expected = &pinning.expected;
    let failed = staging.update_releases(apt, expected)?;
    if !failed.is_empty() {
        return Ok(failed);
    }
    room(node, apt, staging, expected)?;
    let failed = staging.update(expected)?;
    if !failed.is_empty() {
        return Ok(failed);
    }
    let mut missing = lists::missing(
        expected,
        &staging.indexes()?,
        &apt.architectures,
        &|path| node.exists(path),
        &|uri, suite| staging.release(uri, suite),
    );
    if method == Method::Native {
        // indextargets names live indexes too here; policy names those that count
        let command = apt_cache(Some(&staging.config())).arg("policy");
        let policy = node.run(&command)?.check(&command)?.stdout;
        missing.extend(live(&policy, expected));
    }
    Ok(missing)
}

/// The archives that `apt-cache policy` names and that no source is to be taken from.
fn live(policy: &str, expected: &[Expected]) -> BTreeSet<String> {
    policy
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            words.next()?.parse::<i32>().ok()?;
            let uri = words.next().filter(|uri| uri.contains("://"))?;
            let known = expected
                .iter()
                .any(|source| source.uris.iter().any(|wanted| archive::same_place(wanted, uri)));
            (!known).then(|| format!("{}: apt still takes packages from there", archive::mask(uri)))
        })
        .collect()
}

fn room(
    node: &Node,
    apt: &AptConfig,
    staging: &Staging,
    expected: &[Expected],
) -> Result<(), Error> {
    let mut need = MARGIN;
    for source in expected {
        for uri in source.uris.iter().chain(&source.live) {
            for suite in &source.suites {
                if let Some(text) = staging.release(uri, suite) {
                    need += lists::room(source, &apt.architectures, &lists::offered(&text));
                }
            }
        }
    }
    let mut places = vec![(staging.lists(), 0)];
    let device = |path: &std::path::Path| {
        node.locate(path).ok().and_then(|path| path.metadata().ok()).map(|meta| meta.dev())
    };
    if device(&apt.lists) != device(&staging.lists()) {
        // there the old lists make room first
        let mut old = 0;
        for entry in node.list(&apt.lists)? {
            let meta = node.locate(apt.lists.join(&entry.name))?.metadata();
            old += meta.ok().filter(std::fs::Metadata::is_file).map_or(0, |meta| meta.len());
        }
        places.push((apt.lists.clone(), old));
    }
    for (path, gain) in places {
        let free = node.free_bytes(&path)? + gain;
        if free < need {
            let path = path.display().to_string();
            return Err(Error::Space { path, need: need >> 20, free: free >> 20 });
        }
    }
    Ok(())
}

/// Asks archives that nothing is known of for their Release files.
pub(crate) fn learn(
    params: &Params,
    target: &Target,
    apt: &AptConfig,
    bases: &[SourceFile],
    unknown: &BTreeSet<String>,
) -> Result<BTreeMap<String, Release>, Error> {
    let mut learned = BTreeMap::new();
    for file in bases {
        let units = file.form.units(&file.text);
        for (unit, entry) in units.iter().zip(file.form.entries(&units)) {
            let Some(entry) = entry else { continue };
            let exempt = |uri: &String| {
                params.allow_unpinned.iter().any(|name| pinning::names(name, &file.path, uri, None))
            };
            let asked: Vec<&String> = entry
                .uris
                .iter()
                .filter(|uri| unknown.contains(*uri) && !learned.contains_key(*uri) && !exempt(uri))
                .collect();
            if asked.is_empty() {
                continue;
            }
            let source = std::iter::once((file.path.as_str(), *unit));
            let staging = Staging::new(&target.node, apt, source, "")?;
            // one that does not answer stays unknown, and is reported as that
            let _ = staging
                .update_releases(apt, &[])
                .map_err(|error| target.run.warn(error.to_string()));
            for uri in asked {
                let text = entry.suites.iter().find_map(|suite| staging.release(uri, suite));
                if let Some(text) = text {
                    learned.insert(uri.clone(), Release::parse(&text));
                }
            }
        }
    }
    Ok(learned)
}

/// Sources without a pin.
pub(crate) fn unpinned(bases: &[SourceFile]) -> Pinning {
    let mut pinning = Pinning::default();
    for (file, entry) in pinning::entries(bases) {
        for uri in &entry.uris {
            let snapshot = standing::is_snapshot(&entry, uri);
            let reason = if snapshot { standing::REASON } else { "not pinned" };
            pinning.reports.push(SourceReport {
                file: file.path.clone(),
                number: entry.number,
                uri: archive::mask(uri),
                suites: entry.suites.clone(),
                archive: None,
                pinned_uri: None,
                reason: reason.to_owned(),
            });
        }
        pinning.expected.push(pinning::live(file, &entry));
    }
    pinning.texts.extend(bases.iter().map(|file| (file.path.clone(), file.text.clone())));
    pinning
}
