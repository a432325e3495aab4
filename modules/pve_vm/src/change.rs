//! One step, and how it is told.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use pve_types::{ConfigDigest, NodeName, PoolId, Setting, Size, SshKeys, StorageId, Vmid, VolId};
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
    /// Move it to another node.
    Migrate(Migration),
    /// Move a disk to another storage.
    Move {
        /// What the machine is called.
        label: String,
        /// The disk.
        disk: String,
        /// Where it is.
        from: StorageId,
        /// Where it goes to.
        to: StorageId,
        /// The format it gets there.
        format: Option<String>,
    },
    /// Do something about its power.
    Power {
        /// What the machine is called.
        label: String,
        /// What is done.
        action: Action,
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

/// What is done about a machine's power.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Action {
    /// Start it.
    Start,
    /// Let a paused or hibernated one go on.
    Resume,
    /// Halt its processors.
    Pause,
    /// Write its memory to disk and stop it.
    Hibernate,
    /// Shut it down.
    Shutdown(Patience),
    /// Shut it down and start it.
    Restart {
        /// How it is shut down.
        patience: Patience,
        /// What waits for that; nothing if it is asked for by itself.
        pending: Vec<String>,
    },
    /// The same, if what was set before waits for that.
    RestartIfPending(Patience),
}

/// How a machine is shut down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Patience {
    /// How many seconds it has.
    pub(crate) timeout: u64,
    /// Whether it is stopped hard after that.
    pub(crate) force: bool,
}

/// How a machine is moved to another node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Migration {
    /// What the machine is called.
    pub(crate) label: String,
    /// Where it is.
    pub(crate) from: NodeName,
    /// Where it goes to.
    pub(crate) to: NodeName,
    /// Whether it runs meanwhile.
    pub(crate) online: bool,
    /// Whether volumes that only the node has go along.
    pub(crate) with_local_disks: bool,
    /// Where its volumes go to.
    pub(crate) storage: Option<String>,
}

impl Migration {
    /// The storages that its volumes go to, as far as they are said: `fast`, `local:fast,old:new`,
    /// or 1 for those of the same names.
    pub(crate) fn storages(&self) -> impl Iterator<Item = &str> {
        let pairs = self.storage.iter().flat_map(|map| map.split([',', ';', ' ']));
        pairs
            .map(|pair| pair.split_once(':').map_or(pair, |(_, to)| to))
            .filter(|name| !name.is_empty() && *name != "1")
    }
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
    pub(crate) pool: Option<PoolId>,
    /// What it is made from.
    pub(crate) from: From,
    /// Its whole configuration: what is sent, or what comes with what it is made from.
    pub(crate) config: BTreeMap<String, String>,
}

/// What a machine is made from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum From {
    /// Its configuration alone.
    Config {
        /// Whether `ciupgrade` is in it although the task does not say so: a server that does not
        /// take it gets the rest.
        unasked: bool,
    },
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
    /// Keys whose pending value is dropped, with that value.
    pub(crate) revert: BTreeMap<String, Option<String>>,
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

impl Edit {
    /// What differs from the source of a machine that is yet to be made, if that is not known.
    #[must_use]
    pub(crate) fn after_making(label: &str) -> Self {
        Self {
            label: label.to_owned(),
            set: BTreeMap::new(),
            delete: BTreeSet::new(),
            revert: BTreeMap::new(),
            before: BTreeMap::new(),
            digest: None,
            allocates: false,
            after_making: true,
        }
    }
}

impl Change {
    /// Whether it counts as reached although it is planned again after it was done: a password
    /// cannot be read back, and a cloud-init drive does not say what is on it.
    #[must_use]
    pub(crate) fn is_settled(&self) -> bool {
        match self {
            Self::Set(edit) => {
                edit.delete.is_empty()
                    && edit.revert.is_empty()
                    && edit.set.keys().all(|key| key == "cipassword")
            }
            Self::Regenerate { .. } => true,
            // asked for by itself, it is done when it was done once
            Self::Power { action: Action::Restart { pending, .. }, .. } => pending.is_empty(),
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
            Self::Migrate(Migration { label, from, to, online, .. }) => {
                let how = if *online { " while it runs" } else { "" };
                write!(f, "migrate {label} from {from} to {to}{how}")
            }
            Self::Move { label, disk, from, to, .. } => {
                write!(f, "move {disk} of {label} from storage {from} to {to}")
            }
            Self::Power { label, action } => match action {
                Action::Start => write!(f, "start {label}"),
                Action::Resume => write!(f, "resume {label}"),
                Action::Pause => write!(f, "pause {label}"),
                Action::Hibernate => write!(f, "hibernate {label}"),
                Action::Shutdown(patience) => write!(f, "shut down {label}{patience}"),
                Action::Restart { patience, pending } if pending.is_empty() => {
                    write!(f, "restart {label}{patience}")
                }
                Action::Restart { patience, pending } => {
                    let pending = pending.join(", ");
                    write!(f, "restart {label}{patience}, which brings {pending} into force")
                }
                Action::RestartIfPending(patience) => {
                    write!(f, "restart {label}{patience}, if what was set waits for that")
                }
            },
            Self::Template { label } => write!(f, "make {label} a template"),
            Self::Destroy { label, volumes } if volumes.is_empty() => write!(f, "destroy {label}"),
            Self::Destroy { label, volumes } => {
                write!(f, "destroy {label} with its volumes {}", volumes.join(", "))
            }
        }
    }
}

impl fmt::Display for Patience {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let timeout = self.timeout;
        match self.force {
            false => write!(f, " within {timeout} s"),
            true => write!(f, ", and stop it hard after {timeout} s"),
        }
    }
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.set.is_empty() && self.delete.is_empty() && self.revert.is_empty() {
            return write!(f, "set what differs on {}", self.label);
        }
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
            // PVE keeps no volume that nothing names
            if key.starts_with("unused") {
                write!(f, " and destroy its volume")?;
            }
            separator = ", ";
        }
        for (key, value) in &self.revert {
            let value = value.as_deref().map(|value| format!(" {:?}", readable(key, value)));
            let value = value.unwrap_or_default();
            write!(f, "{separator}drop the pending value{value} of {key}")?;
            separator = ", ";
        }
        write!(f, " on {}", self.label)
    }
}
