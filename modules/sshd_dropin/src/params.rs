//! What the task asks for.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::config::{FOLDER, canonical};
use crate::error::Error;
use crate::render;

/// Set sshd options in a drop-in file and prove that they are in force.
///
/// The file is tested as part of the whole configuration with C(sshd -t) before it is placed, and
/// C(sshd -T) has to show each setting afterwards. A setting that another file or line overrides
/// makes the task fail and name that line; everything is then as it was before.
/// Check mode runs the same tests on a copy of the configuration.
/// sshd is reloaded only when the file changed, and has to be active and accept a connection
/// afterwards. A sshd that is started by a socket is restarted instead, if it runs at all.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The name of the file in C(/etc/ssh/sshd_config.d). It ends in C(.conf), and C(10-) before
    /// the name lets it be read before what cloud-init writes, since the first value holds.
    pub(crate) name: String,
    /// The settings, keyword to value. A list is written as sshd expects it for the keyword: a
    /// line for each value (V(Port)), joined by commas (V(Ciphers)) or by blanks.
    pub(crate) settings: Option<Map<String, Value>>,
    /// The whole text of the file, instead of O(settings) and O(match).
    pub(crate) content: Option<String>,
    /// Settings for some connections only.
    pub(crate) r#match: Option<Vec<MatchBlock>>,
    /// Whether the file is there.
    #[serde(default)]
    pub(crate) state: State,
    /// Whether the settings have to be in force for an ordinary user.
    #[serde(default = "yes")]
    pub(crate) verify: bool,
    /// Connections for which the settings have to be in force too, as C(sshd -T -C) takes them,
    /// for example V(user=ann,addr=192.0.2.7).
    pub(crate) verify_for: Option<Vec<String>>,
    /// Users who must have a key before logins with a password are switched off. The user who
    /// called sudo, unless given.
    pub(crate) require_keys_for: Option<Vec<String>>,
    /// Whether sshd takes the change over.
    #[serde(default)]
    pub(crate) reload: Reload,
    /// Whether a copy of a file that is changed or removed is kept beside it.
    #[serde(default)]
    pub(crate) backup: bool,
    /// The folder of a tree to work on instead of the running system.
    #[schemars(extend("x-type" = "path"))]
    pub(crate) root: Option<PathBuf>,
}

/// Settings for some connections.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
pub(crate) struct MatchBlock {
    /// What follows the word C(Match), for example V(User git).
    pub(crate) criteria: String,
    /// The settings, keyword to value.
    pub(crate) settings: Map<String, Value>,
}

/// Whether the file is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// The file is there and its settings are in force.
    #[default]
    Present,
    /// The file is not there.
    Absent,
}

/// Whether sshd takes a change over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Reload {
    /// When the file changed and sshd runs.
    #[default]
    Auto,
    /// Never; something else reloads it.
    No,
}

fn yes() -> bool {
    true
}

impl Params {
    /// What a schema cannot say.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let name = &self.name;
        let hidden = name.starts_with('.');
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
        if hidden || !plain || name.len() > 200 || !name.ends_with(".conf") {
            return Err(Error::Name { name: name.clone() });
        }
        if self.state == State::Present {
            render::check(self)?;
            for directive in self.settings.iter().flatten().map(|(keyword, _)| canonical(keyword)) {
                if directive == "match" || directive == "include" {
                    return Err(Error::NotASetting { keyword: directive });
                }
            }
        }
        self.verify_for.iter().flatten().try_for_each(|connection| {
            let good = connection.split(',').all(|part| part.split_once('=').is_some());
            if good { Ok(()) } else { Err(Error::Connection { text: connection.clone() }) }
        })
    }

    /// The file's path.
    pub(crate) fn path(&self) -> String {
        format!("{FOLDER}/{}", self.name)
    }
}
