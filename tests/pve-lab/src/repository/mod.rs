//! The package server of the lab: Debian's archive, its security archive and dated snapshots of
//! both, small and signed with the lab's own key, under the names that Debian uses.

mod archive;
mod server;

pub use archive::{LIVE_VERSION, SNAPSHOTS};
pub use server::{Fault, FaultKind, Server};

/// The archives as a tree of files, made now if this week's is not in the cache.
///
/// # Errors
/// When they cannot be made.
pub fn files() -> anyhow::Result<std::path::PathBuf> {
    archive::ensure(&crate::image::Trust::ensure()?)
}
