//! What the task asks for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Set the time zone.
///
/// Points C(/etc/localtime) at the zone and writes its name to C(/etc/timezone), which some
/// programs read instead.
/// Needs the package tzdata on the node, but neither a running systemd nor dbus, so that it works
/// in a chroot or on an unpacked tree as well.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The zone by its name in tzdata, for example C(Europe/Vienna) or C(Etc/UTC).
    pub(crate) name: String,
    /// The folder of a tree to work on instead of the running system.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

/// What is returned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The zone that C(/etc/localtime) points at, if it is a link into tzdata.
    pub(crate) localtime: Option<String>,
    /// The zone that C(/etc/timezone) names.
    pub(crate) timezone: Option<String>,
}
