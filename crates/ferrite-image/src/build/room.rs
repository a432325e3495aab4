//! Free space, looked at before it is taken.

use std::path::Path;

use anyhow::{Context, Result, bail};
use nix::sys::statvfs::statvfs;

/// What is left free on the build host beyond what is needed.
const RESERVE: u64 = 256 << 20;

/// What is left free in an image beyond what its new packages say they take.
const SLACK: u64 = 16 << 20;

/// Refuses what a folder of the build host has no room for.
pub(super) fn on_host(folder: &Path, needed: u64) -> Result<()> {
    let free = free(folder)?;
    if free < needed.saturating_add(RESERVE) {
        bail!(
            "{} has {} free and {} are needed; free some, or put the output elsewhere",
            folder.display(),
            spoken(free),
            spoken(needed.saturating_add(RESERVE))
        );
    }
    Ok(())
}

/// Refuses what an image has no room for.
pub(super) fn in_image(root: &Path, needed: u64) -> Result<()> {
    let free = free(root)?;
    if free < needed.saturating_add(SLACK) {
        bail!(
            "the image has {} free and its new packages need {}; give the spec a larger disk",
            spoken(free),
            spoken(needed.saturating_add(SLACK))
        );
    }
    Ok(())
}

fn free(folder: &Path) -> Result<u64> {
    let found =
        statvfs(folder).with_context(|| format!("cannot ask for space in {}", folder.display()))?;
    Ok(found.blocks_available() * found.fragment_size())
}

fn spoken(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_room_is_refused_with_both_sizes() {
        let folder = tempfile::tempdir().unwrap();
        on_host(folder.path(), 0).unwrap();
        in_image(folder.path(), 0).unwrap();
        let host = on_host(folder.path(), 1 << 60).unwrap_err().to_string();
        assert!(host.ends_with(
            " and 1099511628032 MiB are needed; free some, or put the output elsewhere"
        ));
        let image = in_image(folder.path(), 1 << 60).unwrap_err().to_string();
        assert!(
            image.starts_with("the image has ")
                && image.ends_with(
                    " free and its new packages need 1099511627792 MiB; give the spec a larger disk"
                )
        );
    }
}
