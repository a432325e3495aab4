//! What is costly to make is made once and kept outside the checkout.
//!
//! An entry appears under its name complete or not at all: it is made beside, under a lock that
//! other processes wait for, and renamed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use sha2::{Digest, Sha256};

use super::tree;

/// The cache's directory: `$FERRITE_CACHE/lab`, else `~/.cache/ferrite/lab`.
pub fn directory() -> PathBuf {
    let base = match std::env::var_os("FERRITE_CACHE") {
        Some(set) if !set.is_empty() => PathBuf::from(set),
        _ => PathBuf::from(std::env::var_os("HOME").unwrap_or_else(|| "/root".into()))
            .join(".cache/ferrite"),
    };
    let directory = base.join("lab");
    // Guests are started from threads whose working directory is another.
    std::path::absolute(&directory).unwrap_or(directory)
}

/// Holds a lock of the cache until it is dropped.
pub(crate) fn lock(name: &str) -> Result<Flock<File>> {
    let locks = directory().join("locks");
    fs::create_dir_all(&locks).with_context(|| format!("cannot make {}", locks.display()))?;
    let path = locks.join(name);
    let file = File::create(&path).with_context(|| format!("cannot open {}", path.display()))?;
    Flock::lock(file, FlockArg::LockExclusive)
        .map_err(|(_, e)| anyhow::anyhow!("cannot lock {}: {e}", path.display()))
}

/// As [`lock`], if nobody holds it.
pub(crate) fn try_lock(name: &str) -> Option<Flock<File>> {
    let file = File::create(directory().join("locks").join(name)).ok()?;
    Flock::lock(file, FlockArg::LockExclusiveNonblock).ok()
}

/// The path of an entry, made by `build` if it is not there. `build` gets the path to make.
pub(crate) fn entry(name: &str, build: impl FnOnce(&Path) -> Result<()>) -> Result<PathBuf> {
    let path = directory().join(name);
    if path.exists() {
        return Ok(path);
    }
    let _lock = lock(name)?;
    if path.exists() {
        return Ok(path);
    }
    let partial = directory().join(format!("{name}.partial"));
    // Left by a build that was killed; the lock says that nobody is at it.
    remove(&partial)?;
    if let Err(e) = build(&partial) {
        // The build's own error is the one to report.
        let _ = remove(&partial);
        return Err(e);
    }
    fs::rename(&partial, &path)
        .with_context(|| format!("cannot rename {} to {name}", partial.display()))?;
    Ok(path)
}

/// Removes a file or a tree that may be absent. A tree in which something is mounted stays whole:
/// what is mounted there belongs to somebody else.
pub(crate) fn remove(path: &Path) -> Result<()> {
    if path.is_dir()
        && let Some(place) = tree::mounts(&path.canonicalize()?)?.first()
    {
        bail!("cannot remove {}: {} is mounted", path.display(), place.display());
    }
    let result = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    match result {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => {
            Err(e).with_context(|| format!("cannot remove {}", path.display()))
        }
        _ => Ok(()),
    }
}

/// Twelve hexadecimal digits that name a recipe by its content.
pub(crate) fn key(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part.len().to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..6].iter().map(|b| format!("{b:02x}")).collect()
}

/// The number of the week: images age with the archive they were built from.
pub(crate) fn week() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |d| d.as_secs() / (7 * 24 * 3600))
}

#[cfg(test)]
mod tests {
    use super::key;

    #[test]
    fn keys_tell_where_a_part_ends() {
        assert_eq!(key(&["ab", "c"]), key(&["ab", "c"]));
        assert_ne!(key(&["ab", "c"]), key(&["a", "bc"]));
        assert_eq!(key(&["x"]).len(), 12);
    }
}
