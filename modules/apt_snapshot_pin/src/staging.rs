//! A private copy of apt's sources and lists, in which a pin is tried before anything is placed.
//!
//! It lies beside the real lists, so that the lists that were proved can be moved into place and
//! need not be fetched twice. It is gone with this process; what a killed one left is removed.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use managed_node::{Attributes, Node, is_running};

use crate::apt::{AptConfig, apt_get};
use crate::error::Error;
use crate::lists::{self, Index};
use crate::memory::to_bytes;
use crate::pinning::Expected;

const PREFIX: &str = ".ferrite-snapshot-";
/// Copies of this process, which do not get into each other's way.
static NUMBER: AtomicU32 = AtomicU32::new(0);

#[derive(Debug)]
pub(crate) struct Staging {
    node: Node,
    folder: PathBuf,
    /// Staged paths and the real ones, for messages.
    names: Vec<(String, String)>,
}

impl Drop for Staging {
    fn drop(&mut self) {
        // nothing can be done about it here; the next run tries again
        let _ = self.node.remove_tree(&self.folder);
    }
}

impl Staging {
    /// Makes the copy with these sources and these lines of configuration.
    pub(crate) fn new<'a>(
        node: &Node,
        apt: &AptConfig,
        sources: impl Iterator<Item = (&'a str, &'a str)>,
        configuration: &str,
    ) -> Result<Self, Error> {
        let state = apt.lists.parent().unwrap_or(Path::new("/var/lib/apt"));
        for entry in node.list(state)? {
            let Some(rest) = entry.name.strip_prefix(PREFIX) else { continue };
            let pid = rest.split('.').next().unwrap_or_default();
            if !is_running(pid) {
                // an apt that outlived its killed run may still write there; then the next one does
                let _ = node.remove_tree(state.join(&entry.name));
            }
        }
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = state.join(format!("{PREFIX}{}.{number}", std::process::id()));
        node.remove_tree(&folder)?;
        let mut staging = Self { node: node.clone(), folder, names: Vec::new() };
        // readable: apt fetches as a user of its own
        node.make_folder(staging.folder.join("lists"), 0o755)?;
        node.make_folder(staging.folder.join("parts"), 0o755)?;
        let private = Attributes { mode: Some(0o600), owner: None };
        for (path, text) in sources {
            let staged = if Path::new(path) == apt.source_list {
                staging.folder.join("sources.list")
            } else {
                let name = Path::new(path).file_name().unwrap_or_default();
                staging.folder.join("parts").join(name)
            };
            node.replace(&staged, &to_bytes(text), private)?;
            staging.names.push((staged.display().to_string(), path.to_owned()));
        }
        let text = format!(
            "#clear APT::Update::Pre-Invoke;\n#clear APT::Update::Post-Invoke;\n\
             #clear APT::Update::Post-Invoke-Success;\n\
             Dir::Etc::sourcelist \"{0}/sources.list\";\nDir::Etc::sourceparts \"{0}/parts\";\n\
             Dir::State::lists \"{0}/lists/\";\nDir::Cache::pkgcache \"\";\n\
             Dir::Cache::srcpkgcache \"\";\n{configuration}",
            staging.folder.display()
        );
        node.replace(staging.config(), text.as_bytes(), Attributes::default())?;
        Ok(staging)
    }

    /// The configuration that makes apt use the copy.
    pub(crate) fn config(&self) -> PathBuf {
        self.folder.join("apt.conf")
    }

    pub(crate) fn lists(&self) -> PathBuf {
        self.folder.join("lists")
    }

    /// A folder for lists that are replaced.
    pub(crate) fn replaced(&self) -> Result<PathBuf, Error> {
        let folder = self.folder.join("replaced");
        self.node.make_folder(&folder, 0o700)?;
        Ok(folder)
    }

    /// Fetches the Release files alone: server, moment, signature and age are proved by them, and
    /// they tell how much room the indexes need.
    pub(crate) fn update_releases(
        &self,
        apt: &AptConfig,
        expected: &[Expected],
    ) -> Result<Vec<String>, Error> {
        let off = apt.targets.iter().flat_map(|target| {
            ["-o".to_owned(), format!("Acquire::IndexTargets::{target}::DefaultEnabled=false")]
        });
        self.fetch(off, expected)
    }

    /// Fetches everything.
    pub(crate) fn update(&self, expected: &[Expected]) -> Result<Vec<String>, Error> {
        self.fetch(std::iter::empty(), expected)
    }

    fn fetch(
        &self,
        options: impl Iterator<Item = String>,
        expected: &[Expected],
    ) -> Result<Vec<String>, Error> {
        let command = apt_get(Some(&self.config()))
            .args(["-q", "update", "--error-on=any"])
            .args(options)
            .env("DEBIAN_FRONTEND", "noninteractive");
        let output = self.node.run(&command)?;
        if output.success() {
            return Ok(Vec::new());
        }
        let failed = complaints(&self.named(&output.stderr), expected);
        if failed.is_empty() {
            // nothing that could be told apart: apt's words as they are
            output.check(&command)?;
        }
        Ok(failed)
    }

    /// The indexes that apt has and uses in the copy.
    pub(crate) fn indexes(&self) -> Result<Vec<Index>, Error> {
        indexes(&self.node, Some(&self.config()))
    }

    /// A Release file among the lists of the copy.
    pub(crate) fn release(&self, uri: &str, suite: &str) -> Option<String> {
        release(&self.node, &self.lists(), uri, suite)
    }

    /// Text of apt with the real names of files.
    fn named(&self, text: &str) -> String {
        self.names.iter().fold(text.to_owned(), |text, (staged, real)| text.replace(staged, real))
    }
}

/// The indexes that apt has and uses.
pub(crate) fn indexes(node: &Node, config: Option<&Path>) -> Result<Vec<Index>, Error> {
    let command = apt_get(config).args(["indextargets", "--format", lists::FORMAT]);
    Ok(lists::parse(&node.run(&command)?.check(&command)?.stdout))
}

/// A Release file among lists.
pub(crate) fn release(node: &Node, folder: &Path, uri: &str, suite: &str) -> Option<String> {
    ["InRelease", "Release"]
        .iter()
        .find_map(|last| node.read_text(folder.join(lists::release_name(uri, suite, last))).ok())
}

/// What apt said about each source, in its own words.
fn complaints(stderr: &str, expected: &[Expected]) -> Vec<String> {
    let said: Vec<&str> = stderr
        .lines()
        .filter_map(|line| line.strip_prefix("E: ").or_else(|| line.strip_prefix("W: ")))
        // what follows from the others, and what is no reason
        .filter(|line| !line.starts_with("Some index files failed to download"))
        .filter(|line| !line.starts_with("Download is performed unsandboxed"))
        .collect();
    let about = |source: &Expected, line: &str| {
        let mut uris = source.uris.iter().chain(&source.live);
        uris.any(|uri| line.contains(archive_root(uri)))
            && source.suites.iter().any(|suite| line.contains(suite.trim_end_matches('/')))
    };
    let mut complaints: Vec<String> = expected
        .iter()
        .filter_map(|source| {
            let reasons: Vec<&str> =
                said.iter().filter(|line| about(source, line)).copied().collect();
            (!reasons.is_empty()).then(|| format!("{}: {}", source.place, reasons.join("; ")))
        })
        .collect();
    let rest: Vec<&str> = said
        .iter()
        .filter(|line| !expected.iter().any(|source| about(source, line)))
        .copied()
        .collect();
    complaints.extend(rest.iter().map(|line| (*line).to_owned()));
    complaints
}

fn archive_root(uri: &str) -> &str {
    let uri = uri.trim_end_matches('/');
    // apt leaves user and password out of its messages
    uri.rsplit_once('@').map_or(uri, |(_, rest)| rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn apts_words_are_sorted_by_source() {
        let source = |uri: &str, suite: &str| Expected {
            place: format!("{uri} {suite}"),
            types: vec!["deb".into()],
            uris: vec![uri.into()],
            live: Vec::new(),
            suites: vec![suite.into()],
            components: vec!["main".into()],
            architectures: crate::sources::Architectures::default(),
            pinned: true,
        };
        let expected = [source("http://s/debian/1", "trixie"), source("http://s/sec/1/", "x-sec")];
        let stderr = "E: The repository 'http://s/debian/1 trixie Release' does not have a Release \
                      file.\nW: Failed to fetch http://s/sec/1/dists/x-sec/InRelease  Unable to \
                      connect\nE: Some index files failed to download. They have been ignored.\n\
                      N: a note\nW: Download is performed \
                      unsandboxed as root\nE: Broken pipe\n";
        assert_eq!(
            complaints(stderr, &expected),
            [
                "http://s/debian/1 trixie: The repository 'http://s/debian/1 trixie Release' does \
                 not have a Release file.",
                "http://s/sec/1/ x-sec: Failed to fetch http://s/sec/1/dists/x-sec/InRelease  \
                 Unable to connect",
                "Broken pipe",
            ]
        );
    }
}
