//! What a lab has in the host, by its name, and the removal of what nobody owns any more.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Cgroup};
use super::machines::Home;
use crate::image::cache;
use crate::network;

/// The beginning of the names of all groups and tmpfs directories.
const MARK: &str = "ferrite.";

/// The places of the lab of this name whose state is in this directory.
pub(super) fn home(name: &str, state: PathBuf) -> Result<Home> {
    Ok(Home { state, run: run(name), group: group(name)? })
}

fn run(name: &str) -> PathBuf {
    Path::new("/dev/shm").join(format!("{MARK}{name}"))
}

fn group(name: &str) -> Result<Cgroup> {
    Cgroup::top(&format!("{MARK}{name}"))
}

fn owner_file(name: &str) -> PathBuf {
    run(name).join("owner")
}

/// Which files and processes a process sees. Roots and containers on one machine share its control
/// groups and /dev/shm, but a path of one of them says nothing in another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct View {
    /// Device and inode of the root.
    root: (u64, u64),
    mounts: PathBuf,
    processes: PathBuf,
}

impl View {
    /// That of this process.
    pub(super) fn own() -> Result<Self> {
        let root = fs::metadata("/").context("cannot look at /")?;
        let namespace = |kind: &str| {
            let link = Path::new("/proc/self/ns").join(kind);
            fs::read_link(&link).with_context(|| format!("cannot read {}", link.display()))
        };
        Ok(Self {
            root: (root.dev(), root.ino()),
            mounts: namespace("mnt")?,
            processes: namespace("pid")?,
        })
    }

    /// A name for what this path is here, short enough for a part of an interface's name.
    pub(super) fn key(&self, path: &Path) -> String {
        let (device, inode) = self.root;
        let parts = [
            &device.to_string(),
            &inode.to_string(),
            &*self.processes.to_string_lossy(),
            &*path.to_string_lossy(),
        ];
        cache::key(&parts)[..8].to_owned()
    }
}

/// Whose lab it is: it goes when this path is no more.
#[derive(Debug, Serialize, Deserialize)]
struct Owner {
    path: PathBuf,
    view: View,
}

impl Owner {
    /// Whether nobody owns the lab any more, as far as can be told from here.
    fn is_gone(&self, here: &View) -> bool {
        self.view == *here && !self.path.exists()
    }
}

/// Writes down whose lab this is.
pub(super) fn own(name: &str, path: &Path) -> Result<()> {
    fs::create_dir_all(run(name))?;
    let owner = Owner { path: path.to_owned(), view: View::own()? };
    let file = owner_file(name);
    fs::write(&file, serde_json::to_string(&owner)?)
        .with_context(|| format!("cannot write {}", file.display()))
}

/// Removes all that the lab of this name has in the host.
pub(super) fn remove(name: &str) -> Result<()> {
    group(name)?.remove()?;
    network::remove(name)?;
    cache::remove(&run(name))
}

/// Removes the labs whose owners are no more: processes of tests that were killed, directories
/// that were removed under a running lab.
pub(super) fn sweep() -> Result<()> {
    // Two that sweep at once would trip over each other.
    let _lock = cache::lock("sweep")?;
    let here = View::own()?;
    for entry in fs::read_dir(cgroup::root()?)?.flatten() {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().and_then(|n| n.strip_prefix(MARK)) else {
            continue;
        };
        // What cannot be read is being made, or was made by another version: not ours to judge.
        let text = fs::read_to_string(owner_file(name)).unwrap_or_default();
        if serde_json::from_str::<Owner>(&text).is_ok_and(|owner| owner.is_gone(&here)) {
            remove(name)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_labs_of_the_same_view_are_judged() {
        let here = View::own().expect("this process has a root and namespaces");
        let other = [
            View { root: (here.root.0, here.root.1 + 1), ..here.clone() },
            View { mounts: "mnt:[1]".into(), ..here.clone() },
            View { processes: "pid:[1]".into(), ..here.clone() },
        ];
        let gone = |path: &str, view: &View| {
            Owner { path: path.into(), view: view.clone() }.is_gone(&here)
        };
        assert!(gone("/proc/none", &here));
        assert!(!gone("/proc/self", &here));
        for view in &other {
            assert!(!gone("/proc/none", view), "{view:?}");
        }
    }

    #[test]
    fn names_tell_roots_apart() {
        let here = View::own().expect("this process has a root and namespaces");
        let chroot = View { root: (here.root.0, here.root.1 + 1), ..here.clone() };
        let container = View { processes: "pid:[1]".into(), ..here.clone() };
        let path = Path::new("/root/ferrite/target/demo");
        assert_eq!(here.key(path), here.key(path));
        assert_ne!(here.key(path), chroot.key(path));
        assert_ne!(here.key(path), container.key(path));
        assert_ne!(here.key(path), here.key(Path::new("/root/other")));
    }
}
