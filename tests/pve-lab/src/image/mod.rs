//! Cloud images made from Debian's packages, kept in a cache.
//!
//! An image here is what upstream's cloud image is to PVE: a qcow2 that a guest's disk is imported
//! from. It differs in that it has the guest agent, no kernel and no boot loader, and that it also
//! trusts the lab's package server.

mod build;
pub(crate) mod cache;
mod mirror;
mod tree;
mod trust;

use std::path::PathBuf;

use anyhow::Result;

pub use cache::directory as cache_directory;
pub(crate) use trust::GpgHome;
pub use trust::{SERVER_NAMES, Trust};

/// What is said when an image is built begins so.
pub const BUILDING: &str = "pve-lab: building the image";

/// A Debian release that guests run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Suite {
    /// Debian 13.
    Trixie,
    /// Debian 12.
    Bookworm,
}

impl Suite {
    /// All of them, the newest first.
    pub const ALL: [Self; 2] = [Self::Trixie, Self::Bookworm];

    /// The release's code name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Trixie => "trixie",
            Self::Bookworm => "bookworm",
        }
    }

    /// The release's number.
    pub fn version(self) -> &'static str {
        match self {
            Self::Trixie => "13",
            Self::Bookworm => "12",
        }
    }
}

/// An image to build.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Image {
    /// The Debian release in it.
    pub suite: Suite,
    /// Whether it has cloud-init and Python; one without takes systemd's credentials.
    pub cloud_init: bool,
}

impl Image {
    /// A release with cloud-init and Python, as upstream's cloud images have them.
    pub fn cloud(suite: Suite) -> Self {
        Self { suite, cloud_init: true }
    }

    /// The newest release without Python and cloud-init.
    pub fn without_python() -> Self {
        Self::bare(Suite::Trixie)
    }

    /// A release without Python and cloud-init. Trixie's systemd is told by credentials what the
    /// guest needs; into bookworm's files it is written before the first boot.
    pub fn bare(suite: Suite) -> Self {
        Self { suite, cloud_init: false }
    }

    /// The image's name, as upstream names its own.
    pub fn file_name(self) -> String {
        let version = self.suite.version();
        let kind = if self.cloud_init { "genericcloud" } else { "nopython" };
        format!("debian-{version}-{kind}-amd64-lab.qcow2")
    }

    /// The image's file in the cache, built now if this week's is not there.
    pub fn ensure(self) -> Result<PathBuf> {
        let trust = Trust::ensure()?;
        let key = cache::key(&[&build::recipe(self, &trust)?, &trust.identity()?]);
        let name = format!("{key}-{}-{}", cache::week(), self.file_name());
        let path = cache::entry(&name, |path| {
            eprintln!(
                "{BUILDING} {} (first time, about a minute; kept in {})",
                self.file_name(),
                cache::directory().display()
            );
            build::image(self, &trust, path)
        })?;
        prune(&name);
        Ok(path)
    }
}

/// Removes images of the same name that are older than the one given by a month, and what builds
/// left behind that were killed.
fn prune(name: &str) {
    let number = |name: &str| name.split('-').nth(1).and_then(|week| week.parse::<u64>().ok());
    let same = |a: &str, b: &str| a.splitn(3, '-').nth(2) == b.splitn(3, '-').nth(2);
    for entry in std::fs::read_dir(cache::directory()).into_iter().flatten().flatten() {
        let path = entry.path();
        let other = entry.file_name().to_string_lossy().into_owned();
        let old =
            same(name, &other) && number(&other) < number(name).map(|week| week.saturating_sub(4));
        let day_old = || {
            let modified = entry.metadata().and_then(|m| m.modified()).ok();
            modified.and_then(|time| time.elapsed().ok()).is_some_and(|age| age.as_secs() > 86_400)
        };
        if built(&path).is_some() && day_old() {
            clear_leftover(&path);
        } else if old {
            // Another process may have been faster.
            let _ = cache::remove(&path);
        }
    }
}

/// Removes what builds of images left behind that were killed.
pub fn clear_leftovers() {
    for entry in std::fs::read_dir(cache::directory()).into_iter().flatten().flatten() {
        clear_leftover(&entry.path());
    }
}

/// The image that a folder or a file of the cache was to become when its build was killed.
fn built(path: &std::path::Path) -> Option<&str> {
    let name = path.file_name()?.to_str()?;
    let folder = name.strip_prefix('.').and_then(|name| name.strip_suffix(".build"));
    folder.unwrap_or(name).strip_suffix(".partial")
}

/// Removes one part of a build, unless somebody is at it; what stays, the next build reports.
fn clear_leftover(path: &std::path::Path) {
    let Some(name) = built(path) else { return };
    if let Some(_lock) = cache::try_lock(name) {
        let target = cache::directory().join(format!("{name}.partial"));
        let _ = build::clear(&target).and_then(|()| cache::remove(&target));
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::built;

    #[test]
    fn what_a_killed_build_left_is_told_from_images() {
        for (name, expected) in [
            (".1-2-x.qcow2.partial.build", Some("1-2-x.qcow2")),
            ("1-2-x.qcow2.partial", Some("1-2-x.qcow2")),
            ("1-2-x.qcow2", None),
            ("locks", None),
        ] {
            assert_eq!(built(&Path::new("/cache").join(name)), expected, "{name}");
        }
    }
}
