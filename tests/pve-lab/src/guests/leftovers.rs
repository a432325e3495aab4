//! What a lab has in the host, by its name, and the removal of what nobody owns any more.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

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

fn owner(name: &str) -> PathBuf {
    run(name).join("owner")
}

/// Writes down whose lab this is: it goes when this path is no more.
pub(super) fn own(name: &str, path: &Path) -> Result<()> {
    fs::create_dir_all(run(name))?;
    let file = owner(name);
    fs::write(&file, path.as_os_str().as_encoded_bytes())
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
    for entry in fs::read_dir(cgroup::root()?)?.flatten() {
        let file_name = entry.file_name();
        let Some(name) = file_name.to_str().and_then(|n| n.strip_prefix(MARK)) else {
            continue;
        };
        let path = fs::read_to_string(owner(name)).unwrap_or_default();
        if !path.is_empty() && !Path::new(&path).exists() {
            remove(name)?;
        }
    }
    Ok(())
}
