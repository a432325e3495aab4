//! What apt-get says that it would do. Pure.

use std::fmt;

use schemars::JsonSchema;
use serde::Serialize;

/// One thing that apt does to a package.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub(crate) struct Step {
    /// C(install), C(change) of the version, or C(remove).
    pub(crate) action: Action,
    /// The package.
    pub(crate) name: String,
    /// The version that is installed before.
    pub(crate) before: Option<String>,
    /// The version that is installed after.
    pub(crate) after: Option<String>,
}

/// What happens to a package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    /// It comes.
    Install,
    /// It comes in another version.
    Change,
    /// It goes.
    Remove,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = &self.name;
        let (before, after) = (self.before.as_deref(), self.after.as_deref());
        match self.action {
            Action::Install => write!(f, "install {name} {}", after.unwrap_or_default()),
            Action::Change => write!(
                f,
                "change {name} from {} to {}",
                before.unwrap_or_default(),
                after.unwrap_or_default()
            ),
            Action::Remove => write!(f, "remove {name} {}", before.unwrap_or_default()),
        }
    }
}

/// Reads the output of `apt-get --simulate`: `Inst NAME [OLD] (NEW ARCHIVE [ARCH])`,
/// `Remv NAME [OLD]`, `Purg NAME [OLD]`.
pub(crate) fn parse(text: &str) -> Vec<Step> {
    text.lines().filter_map(step).collect()
}

fn step(line: &str) -> Option<Step> {
    let (word, rest) = line.split_once(' ')?;
    let mut words = rest.split(' ');
    let name = words.next()?.to_owned();
    let before = rest
        .split_once(" [")
        .filter(|(ahead, _)| *ahead == name)
        .and_then(|(_, tail)| tail.split_once(']'))
        .map(|(version, _)| version.to_owned());
    let after = rest
        .split_once(" (")
        .and_then(|(_, tail)| tail.split([' ', ')']).next())
        .map(ToOwned::to_owned);
    let action = match word {
        "Inst" if before.is_some() => Action::Change,
        "Inst" => Action::Install,
        "Remv" | "Purg" => Action::Remove,
        _ => return None,
    };
    let after = after.filter(|_| action != Action::Remove);
    Some(Step { action, name, before, after })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_are_read_and_told() {
        let text = "Reading package lists...\nBuilding dependency tree...\n\
            Inst libx (1.0 Debian:13/stable [amd64])\n\
            Inst demo [1.0] (2.0-1 Debian:13/stable, Other [all]) []\n\
            Remv old [0.9] [gone:amd64 ]\nPurg older [0.8]\n\
            Conf libx (1.0 Debian:13/stable [amd64])\n";
        let told: Vec<String> = parse(text).iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            [
                "install libx 1.0",
                "change demo from 1.0 to 2.0-1",
                "remove old 0.9",
                "remove older 0.8"
            ]
        );
    }
}
