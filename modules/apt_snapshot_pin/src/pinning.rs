//! What the files of sources have to become. Pure: what was read comes in, texts go out.

use std::collections::{BTreeMap, BTreeSet};

use crate::archive::{self, Release};
use crate::error::Error;
use crate::params::{Method, Params, SourceReport};
use crate::snapshot_id::SnapshotId;
use crate::sources::{Architectures, Edit, Entry, Form};

/// A file of sources as it was before the pin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) form: Form,
    pub(crate) text: String,
}

/// What is known about URIs beside their text.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    /// Release files by URI.
    pub(crate) releases: BTreeMap<String, Release>,
    /// The first mirror in the file that a `mirror+file` URI names.
    pub(crate) mirrors: BTreeMap<String, String>,
}

/// A source as it has to be found in apt's indexes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Expected {
    /// How it is called in messages.
    pub(crate) place: String,
    pub(crate) types: Vec<String>,
    /// Where its indexes come from.
    pub(crate) uris: Vec<String>,
    /// Where apt may look beside that: the live archive, with apt's own method.
    pub(crate) live: Vec<String>,
    pub(crate) suites: Vec<String>,
    pub(crate) components: Vec<String>,
    pub(crate) architectures: Architectures,
    /// Whether it is pinned; others are only allowed to be there.
    pub(crate) pinned: bool,
}

/// The outcome.
#[derive(Debug, Default)]
pub(crate) struct Pinning {
    pub(crate) reports: Vec<SourceReport>,
    pub(crate) expected: Vec<Expected>,
    /// Every file's text, changed or not.
    pub(crate) texts: BTreeMap<String, String>,
    /// Sources that stay unpinned and may not: place and reason.
    pub(crate) refused: Vec<String>,
    /// Sources that were a snapshot before the pin: place and advice.
    pub(crate) standing: Vec<String>,
    /// The URIs that are pinned, as they were.
    pub(crate) from: BTreeSet<String>,
    /// `Acquire::Snapshots::URI::Host` entries that apt's own method needs.
    pub(crate) hosts: BTreeMap<String, String>,
}

/// The enabled sources of all files, with the file they are in.
pub(crate) fn entries(files: &[SourceFile]) -> Vec<(&SourceFile, Entry)> {
    files
        .iter()
        .flat_map(|file| {
            let units = file.form.units(&file.text);
            file.form.entries(&units).into_iter().flatten().map(move |entry| (file, entry))
        })
        .collect()
}

pub(crate) fn pin(
    params: &Params,
    id: &SnapshotId,
    method: Method,
    files: &[SourceFile],
    facts: &Facts,
) -> Result<Pinning, Error> {
    let mut pinning = Pinning::default();
    let mut used = vec![false; params.sources.as_ref().map_or(0, Vec::len)];
    for file in files {
        let units = file.form.units(&file.text);
        let mut text = String::with_capacity(file.text.len() + 64);
        for (unit, entry) in units.iter().zip(file.form.entries(&units)) {
            let edited = entry.and_then(|entry| {
                pinning.source(params, id, method, file, &entry, facts, &mut used)
            });
            match edited {
                Some(edit) => text.push_str(&file.form.edit(unit, &edit)),
                None => text.push_str(unit),
            }
        }
        pinning.texts.insert(file.path.clone(), text);
    }
    let selectors = params.sources.iter().flatten();
    if let Some((selector, _)) = selectors.zip(&used).find(|(_, used)| !**used) {
        let known: Vec<_> = pinning.reports.iter().map(|report| report.uri.as_str()).collect();
        return Err(Error::NoSuchSource { selector: selector.clone(), known: known.join(", ") });
    }
    Ok(pinning)
}

impl Pinning {
    #[expect(clippy::too_many_arguments, reason = "all of them are what one source depends on")]
    fn source(
        &mut self,
        params: &Params,
        id: &SnapshotId,
        method: Method,
        file: &SourceFile,
        entry: &Entry,
        facts: &Facts,
        used: &mut [bool],
    ) -> Option<Edit> {
        let mut pinned = Vec::new();
        let mut reasons = Vec::new();
        for uri in &entry.uris {
            let real = facts.mirrors.get(uri).unwrap_or(uri);
            let found = archive::pin(real, facts.releases.get(uri), &params.servers, id);
            let name = found.as_ref().ok().map(|pin| pin.archive.clone());
            let named = |selector: &String| names(selector, &file.path, uri, name.as_deref());
            let mut chosen = params.sources.is_none();
            for (selector, used) in params.sources.iter().flatten().zip(used.iter_mut()) {
                if named(selector) {
                    (chosen, *used) = (true, true);
                }
            }
            let allowed = params.allow_unpinned.iter().any(named);
            let (reason, pin, refused) = match found {
                // an exception is one even where the source could be pinned
                _ if allowed => ("allowed to stay unpinned".to_owned(), None, false),
                _ if !chosen => ("not among the sources to pin".to_owned(), None, true),
                Ok(pin) => ("pinned".to_owned(), Some(pin), false),
                Err(reason) => (reason, None, true),
            };
            let place = place(file, entry, uri);
            if refused {
                self.refused.push(format!("{place}: {reason}"));
            }
            reasons.push(reason.clone());
            self.reports.push(SourceReport {
                file: file.path.clone(),
                number: entry.number,
                uri: archive::mask(uri),
                suites: entry.suites.clone(),
                archive: name,
                pinned_uri: pin.as_ref().map(|pin| archive::mask(&pin.uri)),
                reason,
            });
            pinned.extend(pin.map(|pin| (uri.clone(), pin.uri)));
        }
        self.conclude(id, method, file, entry, pinned)
    }

    fn conclude(
        &mut self,
        id: &SnapshotId,
        method: Method,
        file: &SourceFile,
        entry: &Entry,
        pinned: Vec<(String, String)>,
    ) -> Option<Edit> {
        let mut expected = Expected { pinned: !pinned.is_empty(), ..live(file, entry) };
        if pinned.is_empty() {
            self.expected.push(expected);
            return None;
        }
        if pinned.len() < entry.uris.len() {
            self.refused.push(format!(
                "{}: one of its URIs is pinned and another is not; give each a stanza of its own",
                expected.place
            ));
            return None;
        }
        self.from.extend(entry.uris.iter().cloned());
        expected.uris = pinned.iter().map(|(_, to)| to.clone()).collect();
        let edit = if method == Method::Native {
            expected.live.clone_from(&entry.uris);
            for (from, to) in &pinned {
                if let Some(host) = archive::host(from) {
                    self.hosts.insert(host.to_owned(), template(from, to, id));
                }
            }
            Edit::Native(id.to_string())
        } else {
            Edit::Rewrite(expected.uris.clone())
        };
        self.expected.push(expected);
        Some(edit)
    }
}

/// A source that is left as it is.
pub(crate) fn live(file: &SourceFile, entry: &Entry) -> Expected {
    Expected {
        place: place(file, entry, &entry.uris.join(" ")),
        types: entry.types.clone(),
        uris: entry.uris.clone(),
        live: Vec::new(),
        suites: entry.suites.clone(),
        components: entry.components.clone(),
        architectures: entry.architectures.clone(),
        pinned: false,
    }
}

/// apt's template for a host: the path is what may differ between its archives.
fn template(from: &str, to: &str, id: &SnapshotId) -> String {
    let path = archive::path(from).unwrap_or_default();
    let to = to.replace(id.as_str(), "@SNAPSHOTID@");
    let to = if path.is_empty() { to } else { to.replacen(path, "@PATH@", 1) };
    format!("{}/", to.trim_end_matches('/'))
}

/// Whether a source is meant by a word of the task.
pub(crate) fn names(selector: &str, path: &str, uri: &str, archive: Option<&str>) -> bool {
    selector == path
        || path.rsplit('/').next() == Some(selector)
        || archive::same(selector, uri)
        || archive::host(uri) == Some(selector)
        || archive == Some(selector)
}

pub(crate) fn place(file: &SourceFile, entry: &Entry, uri: &str) -> String {
    let name = match file.form {
        Form::OneLine => "line",
        Form::Deb822 => "stanza",
    };
    let suites = entry.suites.join(" ");
    let uris: Vec<String> = uri.split(' ').map(archive::mask).collect();
    format!("{} {suites} ({} {name} {})", uris.join(" "), file.path, entry.number)
}

#[cfg(test)]
mod tests;
