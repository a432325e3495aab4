//! One step.

mod told;

use std::collections::{BTreeMap, BTreeSet};

use pve_types::{ConfigDigest, NodeName, PoolId, Size, StorageId, Vmid, VolId};

pub(crate) use told::readable;

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
