//! One step, and how it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pve_types::{ConfigDigest, NodeName, Setting, Size, SshKeys, Vmid};
use secret::MASK;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Make the machine.
    Create(Creation),
    /// Write differences of its configuration.
    Set(Edit),
    /// Grow a disk.
    Grow {
        /// What the machine is called.
        label: String,
        /// The disk.
        disk: String,
        /// The size it had; unknown for one that is yet to be made.
        from: Option<Size>,
        /// The size it shall have.
        to: Size,
    },
    /// Write the cloud-init drive of a running machine anew.
    Regenerate {
        /// What the machine is called.
        label: String,
    },
    /// Start it.
    Start {
        /// What the machine is called.
        label: String,
    },
    /// Let a paused machine go on.
    Resume {
        /// What the machine is called.
        label: String,
    },
    /// Shut it down.
    Shutdown {
        /// What the machine is called.
        label: String,
        /// How many seconds it has.
        timeout: u64,
        /// Whether it is stopped hard after that.
        force: bool,
    },
    /// Remove it.
    Destroy {
        /// What the machine is called.
        label: String,
        /// The volumes that are lost.
        volumes: Vec<String>,
    },
}

/// How a machine is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Creation {
    /// What the machine is called.
    pub(crate) label: String,
    /// Where.
    pub(crate) node: NodeName,
    /// With which number; nothing for the next free one.
    pub(crate) vmid: Option<Vmid>,
    /// The pool it becomes a member of.
    pub(crate) pool: Option<String>,
    /// Its whole configuration.
    pub(crate) config: BTreeMap<String, String>,
}

/// Differences to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Edit {
    /// What the machine is called.
    pub(crate) label: String,
    /// Keys and their new values.
    pub(crate) set: BTreeMap<String, String>,
    /// Keys to take away.
    pub(crate) delete: BTreeSet<String>,
    /// The values that these keys had.
    pub(crate) before: BTreeMap<String, String>,
    /// The hash of the configuration that was compared.
    pub(crate) digest: Option<ConfigDigest>,
    /// Whether volumes are made, which takes its time.
    pub(crate) allocates: bool,
}

impl Change {
    /// Whether it counts as reached although it is planned again after it was done: a password
    /// cannot be read back, and a cloud-init drive does not say what is on it.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Self::Set(edit) => {
                edit.delete.is_empty() && edit.set.keys().all(|key| key == "cipassword")
            }
            Self::Regenerate { .. } => true,
            _ => false,
        }
    }
}

/// A value as a person reads it: keys decoded, secrets masked.
#[must_use]
pub(crate) fn readable(key: &str, value: &str) -> String {
    match Setting::of(key) {
        Setting::Secret => MASK.to_owned(),
        Setting::SshKeys => SshKeys::decode(value).to_string(),
        _ => value.to_owned(),
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Create(Creation { label, node, config, .. }) => {
                write!(f, "create {label} on {node}")?;
                let source = config.values().find_map(|line| line.split("import-from=").nth(1));
                match source {
                    Some(source) => {
                        write!(f, " from {}", source.split(',').next().unwrap_or(source))
                    }
                    None => Ok(()),
                }
            }
            Self::Set(edit) => edit.fmt(f),
            Self::Grow { label, disk, from: Some(from), to } => {
                write!(f, "grow {disk} of {label} from {from} to {to}")
            }
            Self::Grow { label, disk, from: None, to } => {
                write!(f, "grow {disk} of {label} to {to}")
            }
            Self::Regenerate { label } => write!(f, "write the cloud-init drive of {label} anew"),
            Self::Start { label } => write!(f, "start {label}"),
            Self::Resume { label } => write!(f, "resume {label}"),
            Self::Shutdown { label, timeout, force: false } => {
                write!(f, "shut down {label} within {timeout} s")
            }
            Self::Shutdown { label, timeout, force: true } => {
                write!(f, "shut down {label}, and stop it hard after {timeout} s")
            }
            Self::Destroy { label, volumes } if volumes.is_empty() => write!(f, "destroy {label}"),
            Self::Destroy { label, volumes } => {
                write!(f, "destroy {label} with its volumes {}", volumes.join(", "))
            }
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for (key, value) in &self.set {
            let value = readable(key, value);
            match self.before.get(key) {
                Some(before) if !before.trim().is_empty() => {
                    let before = readable(key, before);
                    write!(f, "{separator}set {key} to {value:?} (was {before:?})")?;
                }
                _ => write!(f, "{separator}set {key} to {value:?}")?,
            }
            separator = ", ";
        }
        for key in &self.delete {
            match self.before.get(key) {
                Some(before) => {
                    write!(f, "{separator}take away {key} (was {:?})", readable(key, before))?;
                }
                None => write!(f, "{separator}take away {key}")?,
            }
            separator = ", ";
        }
        write!(f, " on {}", self.label)
    }
}
