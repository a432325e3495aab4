//! What the task asks for.

use std::collections::BTreeMap;
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Set what apt does periodically.
///
/// Writes C(APT::Periodic) settings to one file of C(/etc/apt/apt.conf.d). apt itself parses the
/// file together with all others before it is placed, since one bad file breaks every apt command.
/// Each setting is seen to be in force. If another file outranks it, the task fails, names that
/// file and places nothing; of two files the later name holds.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The settings by their name below C(APT::Periodic), for example C(Update-Package-Lists),
    /// C(Unattended-Upgrade) or C(Enable). The file holds exactly these. Needed unless O(state) is
    /// V(absent).
    pub(crate) settings: Option<BTreeMap<String, Scalar>>,
    /// The name of the file. It has to sort after those that it is to outrank; cloud-init's own
    /// begin with 94 or less.
    #[serde(default = "file")]
    pub(crate) file: String,
    /// Whether the file is there.
    #[serde(default)]
    pub(crate) state: State,
    /// The folder of a tree to work on instead of the running system. Its own apt-config is used.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

fn file() -> String {
    "99ferrite_periodic".to_owned()
}

/// A value as YAML gives it. True is 1 and false is 0.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Scalar {
    /// Yes or no.
    Flag(bool),
    /// A number of days.
    Number(u64),
    /// Anything else that apt takes, such as C(always) or C(12h).
    Text(String),
}

impl Scalar {
    pub(crate) fn text(&self) -> String {
        match self {
            Self::Flag(flag) => u8::from(*flag).to_string(),
            Self::Number(number) => number.to_string(),
            Self::Text(text) => text.clone(),
        }
    }
}

/// There or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The file is there and its settings are in force.
    #[default]
    Present,
    /// The file is gone.
    Absent,
}

/// What is returned.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The path of the file.
    pub(crate) path: String,
    /// Every C(APT::Periodic) setting that is in force.
    pub(crate) effective: BTreeMap<String, String>,
}
