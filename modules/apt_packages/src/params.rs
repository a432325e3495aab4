//! What the task asks for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::simulation::Step;

/// Install and remove packages.
///
/// What apt would do is taken from its own simulation, so that check mode tells every package that
/// would come or go.
/// A package that is installed is not upgraded, unless an exact version asks for that.
/// Neither Python nor python3-apt is needed on the node. The package lists are used as they are;
/// M(ferrite.pve.apt_snapshot_pin) fetches them.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The packages, each C(name), C(name:architecture), or C(name=version) for an exact version.
    #[schemars(extend("x-aliases" = ["names", "packages"]))]
    pub(crate) name: Vec<String>,
    /// Whether they are installed.
    #[serde(default)]
    pub(crate) state: State,
    /// Whether packages that are only recommended are installed too. As apt is configured, if not
    /// given.
    pub(crate) install_recommends: Option<bool>,
    /// Whether an exact version may be older than what is installed.
    #[serde(default)]
    pub(crate) allow_downgrade: bool,
    /// Refuse to install unless the sources are pinned by M(ferrite.pve.apt_snapshot_pin), still
    /// are as that module left them, and none was added since.
    #[serde(default)]
    pub(crate) require_pin: bool,
    /// Whether configuration files are removed together with their package.
    #[serde(default)]
    pub(crate) purge: bool,
    /// Whether an interrupted dpkg is finished first, with C(dpkg --configure -a) and C(apt-get
    /// --fix-broken install). Without it such a state fails the task.
    #[serde(default)]
    pub(crate) repair: bool,
    /// For how many seconds the locks of dpkg and apt are awaited.
    #[serde(default = "five_minutes")]
    pub(crate) lock_timeout: u64,
    /// The folder of a system to work on instead of the running one. Its own apt is used.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

fn five_minutes() -> u64 {
    300
}

/// Installed or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// Installed, in the version that is asked for if there is one.
    #[default]
    Present,
    /// Not installed.
    Absent,
}

/// What is returned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// Everything that apt did or would do, by its own simulation.
    pub(crate) steps: Vec<Step>,
    /// The packages that were asked for, with their installed versions.
    pub(crate) packages: Vec<Package>,
}

/// One package that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    /// Its version, if it is installed.
    pub(crate) version: Option<String>,
}
