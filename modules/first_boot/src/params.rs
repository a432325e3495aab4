//! What the task asks for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Wait until the first boot is over.
///
/// Waits for cloud-init, for running jobs of apt, and for the locks of apt and dpkg, so that the
/// tasks after it do not collide with them.
/// A cloud-init that finished with recoverable errors is a success, and its errors are given as a
/// warning unless they are nothing but remarks about deprecated keys. One that failed fails the task.
/// The module never reports a change. It also waits in check mode, since what comes after it could
/// not be foretold otherwise.
/// Where no systemd is running, in a chroot or on an unpacked tree, there is nothing to wait for.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// For how many seconds everything together is awaited.
    #[serde(default = "ten_minutes")]
    pub(crate) timeout: u64,
    /// Whether cloud-init is awaited, where it is installed.
    #[serde(default = "yes")]
    pub(crate) cloud_init: bool,
    /// Whether apt's jobs and locks are awaited.
    #[serde(default = "yes")]
    pub(crate) apt: bool,
    /// The folder of a tree to look at instead of the running system.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

fn ten_minutes() -> u64 {
    600
}

fn yes() -> bool {
    true
}

/// What is returned.
#[derive(Debug, Clone, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// Everything that was awaited, in order.
    pub(crate) waited: Vec<Waited>,
    /// What cloud-init said of itself.
    pub(crate) cloud_init: Option<CloudInit>,
}

/// One thing that was awaited.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Waited {
    /// What it is, for example C(cloud-init) or a unit or a lock.
    pub(crate) what: String,
    /// How long it took, in milliseconds.
    pub(crate) milliseconds: u64,
}

/// The end of cloud-init.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct CloudInit {
    /// Its status, for example C(done) or C(disabled).
    pub(crate) status: String,
    /// Whether it finished with recoverable errors.
    pub(crate) degraded: bool,
    /// Whether those errors are nothing but remarks about deprecated keys. No warning is given
    /// then.
    pub(crate) deprecated_only: bool,
    /// Everything it said.
    pub(crate) details: String,
}
