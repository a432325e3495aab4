//! What the module is asked for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::snapshot_id::SnapshotId;

/// Pin apt to a dated snapshot of its archives.
///
/// Every enabled source is made to point at the archive as it was at one moment, and the package
/// lists are fetched from there.
/// Nothing is changed before apt has fetched and verified every index from the snapshot into a
/// private place. A source that cannot be pinned, a server that does not answer, a bad signature
/// or an unknown moment fails the task and leaves sources and lists as they were.
/// Check mode makes the same proof and fails where the run would fail.
/// Debian, Debian security, Ubuntu with its pockets and ports, and PPAs are known, and mirrors of
/// them by their Release files.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The moment, in UTC, as C(YYYYMMDDTHHMMSSZ). The archive answers with the last state before
    /// it.
    #[schemars(with = "Option<String>")]
    pub(crate) snapshot_id: Option<SnapshotId>,
    /// Whether the sources are pinned. With V(absent) they become what they were before they were
    /// pinned first, together with what was added to them since. Sources that were a snapshot
    /// before that, or whose memory on the node was lost, fail the task with what to do.
    #[serde(default)]
    pub(crate) state: State,
    /// How the sources are pinned.
    #[serde(default)]
    pub(crate) method: Method,
    /// The sources to pin, each named by its file, its URI, its host or its archive (C(debian),
    /// C(debian-security), C(ubuntu), C(ppa)). All, if not given.
    pub(crate) sources: Option<Vec<String>>,
    /// Sources that may stay as they are, named alike. Every other enabled source that is not
    /// pinned fails the task.
    #[serde(default)]
    pub(crate) allow_unpinned: Vec<String>,
    /// Whether the package lists are fetched from the snapshot and seen to be in force. Without
    /// it only the sources are written, and nothing is proved.
    #[serde(default = "yes")]
    pub(crate) update: bool,
    /// How many seconds to wait for the locks of dpkg and of the package lists.
    #[serde(default = "lock_timeout")]
    pub(crate) lock_timeout: u64,
    /// Where the snapshots of other archives are, or of known ones on a server of your own. The key
    /// is an archive, a host or a URI; the value is an address in which C(@SNAPSHOTID@) stands for
    /// the moment and C(@PATH@) for the source's path.
    #[serde(default)]
    pub(crate) servers: BTreeMap<String, String>,
    /// The folder of a system to work on in place of the running one, for image builds. The tools
    /// of that system are used.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

/// Pinned or not.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Pinned to the snapshot.
    #[default]
    Present,
    /// As before the first pin.
    Absent,
}

/// A way to pin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Method {
    /// The way that needs nothing but the snapshot: rewrite.
    #[default]
    Auto,
    /// apt's own C(Snapshot) option. Needs an apt that knows it (2.7.10, Debian 13), and the live
    /// archive as well.
    Native,
    /// The source's URI becomes that of the snapshot. Works with every apt.
    Rewrite,
}

fn yes() -> bool {
    true
}

fn lock_timeout() -> u64 {
    300
}

/// What is returned.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The way the sources are pinned, C(rewrite) or C(native).
    pub(crate) method: Option<Method>,
    /// Every enabled source.
    pub(crate) sources: Vec<SourceReport>,
    /// Whether every index was seen to come from the snapshot.
    pub(crate) verified: bool,
    /// Installed packages that are newer than the snapshot, when the pin changed. They are never
    /// downgraded by this module.
    pub(crate) newer: Vec<Newer>,
}

/// One source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct SourceReport {
    /// The file that it is in.
    pub(crate) file: String,
    /// Its line in a C(.list) file, its stanza in a C(.sources) file.
    pub(crate) number: usize,
    /// Its URI before the pin, without a password.
    pub(crate) uri: String,
    /// Its suites.
    pub(crate) suites: Vec<String>,
    /// The archive that it was found to be of.
    pub(crate) archive: Option<String>,
    /// The URI of the snapshot.
    pub(crate) pinned_uri: Option<String>,
    /// Why it is pinned or not.
    pub(crate) reason: String,
}

/// A package that is newer than the snapshot.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Newer {
    /// Its name.
    pub(crate) name: String,
    /// The version that is installed.
    pub(crate) installed: String,
    /// The version in the snapshot.
    pub(crate) pinned: String,
}
