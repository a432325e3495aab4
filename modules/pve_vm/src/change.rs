//! One step, and how it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pve_types::{ConfigDigest, NodeName, Setting, Size, SshKeys, StorageId, Vmid, VolId};
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
    /// Make it a template.
    Template {
        /// What the machine is called.
        label: String,
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
    /// What it is made from.
    pub(crate) from: From,
    /// Its whole configuration: what is sent, or what comes with what it is made from.
    pub(crate) config: BTreeMap<String, String>,
}

/// What a machine is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// Its configuration alone.
    Config,
    /// Another machine.
    Clone {
        /// What that is called.
        label: String,
        /// Where it is.
        node: NodeName,
        /// Its number.
        vmid: Vmid,
        /// Whether the disks are copied.
        full: bool,
        /// Where the copies go to.
        storage: Option<StorageId>,
        /// Their format.
        format: Option<&'static str>,
        /// The snapshot that is copied.
        snapname: Option<String>,
    },
    /// A backup.
    Archive {
        /// The backup.
        archive: VolId,
        /// Where the disks go to.
        storage: Option<StorageId>,
        /// Whether MAC addresses and identity are made anew.
        unique: bool,
    },
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
    /// Whether it follows the making of the machine: what is really written is told by a
    /// comparison with what was made, since that has addresses and volumes of its own.
    pub(crate) after_making: bool,
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
            Self::Create(Creation { label, node, from: From::Archive { archive, .. }, .. }) => {
                write!(f, "restore {label} on {node} from {archive}")
            }
            Self::Create(Creation {
                label,
                node,
                from: From::Clone { label: source, full, .. },
                ..
            }) => {
                let how = if *full { "a full copy" } else { "a linked copy" };
                write!(f, "create {label} on {node} as {how} of {source}")
            }
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
            Self::Template { label } => write!(f, "make {label} a template"),
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
