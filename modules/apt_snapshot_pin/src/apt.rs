//! apt's own configuration, as `apt-config dump` prints it, and its commands.

use std::path::{Path, PathBuf};
use std::time::Duration;

use managed_node::{Command, Node};

use crate::error::Error;

/// How long fetching the lists may take; snapshot servers are slow.
const UPDATE_LIMIT: Duration = Duration::from_secs(1800);

/// What of apt's configuration matters here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct AptConfig {
    /// The main file of sources.
    pub(crate) source_list: PathBuf,
    /// The folder of further files.
    pub(crate) source_parts: PathBuf,
    /// The folder of package lists.
    pub(crate) lists: PathBuf,
    /// The folder of configuration snippets.
    pub(crate) conf_parts: PathBuf,
    /// Whether this apt knows snapshots. Its configuration tells; a version number does not.
    pub(crate) native: bool,
    /// The architectures, native and foreign.
    pub(crate) architectures: Vec<String>,
    /// The kinds of indexes that are fetched, as `deb::Packages`.
    pub(crate) targets: Vec<String>,
}

impl AptConfig {
    pub(crate) fn read(node: &Node) -> Result<Self, Error> {
        let command = Command::new("apt-config").arg("dump");
        let output = node.run(&command)?.check(&command)?;
        Ok(Self::parse(&output.stdout))
    }

    pub(crate) fn parse(dump: &str) -> Self {
        let values: Vec<(&str, &str)> = dump
            .lines()
            .filter_map(|line| {
                let (key, value) = line.strip_suffix(';')?.split_once(' ')?;
                Some((key, value.trim_matches('"')))
            })
            .collect();
        let get = |key: &str| values.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        let path = |keys: &[&str]| {
            keys.iter()
                .fold(PathBuf::from("/"), |path, key| path.join(get(key).unwrap_or_default()))
        };
        Self {
            source_list: path(&["Dir", "Dir::Etc", "Dir::Etc::sourcelist"]),
            source_parts: path(&["Dir", "Dir::Etc", "Dir::Etc::sourceparts"]),
            lists: path(&["Dir", "Dir::State", "Dir::State::lists"]),
            conf_parts: path(&["Dir", "Dir::Etc", "Dir::Etc::parts"]),
            native: values.iter().any(|(key, _)| key.starts_with("Acquire::Snapshots::URI")),
            architectures: values
                .iter()
                .filter(|(key, value)| {
                    (*key == "APT::Architectures::" || *key == "APT::Architecture")
                        && !value.is_empty()
                })
                .map(|(_, value)| (*value).to_owned())
                .collect(),
            targets: values
                .iter()
                .filter_map(|(key, _)| key.strip_prefix("Acquire::IndexTargets::"))
                .filter(|target| target.matches("::").count() == 1)
                .map(ToOwned::to_owned)
                .collect(),
        }
    }
}

/// `apt-get` with a configuration of its own on top, if there is one.
pub(crate) fn apt_get(config: Option<&Path>) -> Command {
    with_config(Command::new("apt-get"), config)
}

/// `apt-cache`, alike.
pub(crate) fn apt_cache(config: Option<&Path>) -> Command {
    with_config(Command::new("apt-cache"), config)
}

fn with_config(command: Command, config: Option<&Path>) -> Command {
    let command = command.timeout(UPDATE_LIMIT);
    match config {
        Some(path) => command.arg("-c").arg(path.display().to_string()),
        None => command,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_dump_is_read() {
        let dump = "APT \"\";\nAPT::Architecture \"amd64\";\nAPT::Architectures:: \"amd64\";\n\
                    APT::Architectures:: \"i386\";\nDir \"/\";\nDir::State \"var/lib/apt\";\n\
                    Dir::State::lists \"lists/\";\nDir::Etc \"etc/apt\";\n\
                    Dir::Etc::sourcelist \"sources.list\";\nDir::Etc::sourceparts \
                    \"/srv/sources\";\nDir::Etc::parts \"apt.conf.d\";\n\
                    Acquire::IndexTargets::deb \"\";\nAcquire::IndexTargets::deb::Packages \
                    \"\";\nAcquire::IndexTargets::deb::Packages::MetaKey \"x\";\n";
        let config = AptConfig::parse(dump);
        assert_eq!(config.source_list, Path::new("/etc/apt/sources.list"));
        assert_eq!(config.source_parts, Path::new("/srv/sources"));
        assert_eq!(config.lists, Path::new("/var/lib/apt/lists/"));
        assert_eq!(config.architectures, ["amd64", "amd64", "i386"]);
        assert_eq!(config.targets, ["deb::Packages"]);
        assert!(!config.native);
        let newer = format!("{dump}Acquire::Snapshots::URI::Origin::Debian \"https://s\";\n");
        assert!(AptConfig::parse(&newer).native);
    }
}
