//! What the task asks for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::units;

/// Keep systemd timers from starting.
///
/// A masked timer stays off when a package runs C(systemctl preset), is upgraded, or when the
/// machine boots. A timer that is only disabled does not.
/// The timer is stopped and its links are removed before it is masked, so that no unit is left in
/// the failed state. How it was before is remembered on the node, and C(state=unmasked) brings
/// exactly that back.
/// The module works in a chroot or on an unpacked tree as well, where only files are changed.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The timer units, suffix C(.timer) included. Units that are not installed may be named too.
    #[schemars(extend("x-aliases" = ["name"]))]
    pub(crate) timers: Vec<String>,
    /// Whether the timers are masked.
    #[serde(default)]
    pub(crate) state: State,
    /// What to do about the service of a masked timer when it is running, since masking a timer
    /// does not stop what it started.
    #[serde(default)]
    pub(crate) stop_running: StopRunning,
    /// For how many seconds a running service is awaited, and given time to stop.
    #[serde(default = "ten_minutes")]
    pub(crate) wait_timeout: u64,
    /// The folder of a tree to work on instead of the running system.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

/// The state of the timers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Stopped, not wanted by anything, and masked.
    #[default]
    Masked,
    /// Not masked; enabled and started if it was so before this module masked it.
    Unmasked,
}

/// What to do about a running service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum StopRunning {
    /// Wait for its end; fail when it takes longer than O(wait_timeout).
    #[default]
    Wait,
    /// Stop it.
    Stop,
    /// Leave it running and warn.
    Ignore,
}

fn ten_minutes() -> u64 {
    600
}

impl Params {
    /// What a schema cannot say.
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.timers.is_empty() {
            return Err(Error::NoTimers);
        }
        self.timers.iter().try_for_each(|name| units::check_name(name))
    }

    /// The timers, each once.
    pub(crate) fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for name in &self.timers {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }
}
