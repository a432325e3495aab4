//! What is there: the machine and its snapshots, as they were read.

use pve_client::Snapshot;
use pve_types::{NodeName, Vmid, vm_label};

/// The machine with its snapshots, if it is there.
pub(crate) type Found = Option<Guest>;

/// A machine as it was read.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// Its number.
    pub(crate) vmid: Vmid,
    /// Where it is now.
    pub(crate) node: NodeName,
    /// Its name.
    pub(crate) name: String,
    /// Whether it runs, a paused one included.
    pub(crate) running: bool,
    /// PVE's own word: `running`, `stopped`, `paused`.
    pub(crate) status: String,
    /// Whether it is a template.
    pub(crate) template: bool,
    /// What it is locked by.
    pub(crate) lock: Option<String>,
    /// Its snapshots, the oldest first.
    pub(crate) snapshots: Vec<Snapshot>,
    /// The snapshot that the machine stands on now.
    pub(crate) here: Option<String>,
}

impl Guest {
    /// What it is called in messages: `vm web (100)`.
    #[must_use]
    pub(crate) fn label(&self) -> String {
        vm_label(Some(&self.name), Some(self.vmid))
    }

    /// A snapshot of this name.
    #[must_use]
    pub(crate) fn snapshot(&self, name: &str) -> Option<&Snapshot> {
        self.snapshots.iter().find(|snapshot| snapshot.name == name)
    }

    /// Takes what PVE lists, the running state among it.
    pub(crate) fn set_snapshots(&mut self, listed: Vec<Snapshot>) {
        let (current, mut snapshots): (Vec<_>, Vec<_>) =
            listed.into_iter().partition(Snapshot::is_current);
        snapshots.sort_by(|a, b| (a.snaptime, &a.name).cmp(&(b.snaptime, &b.name)));
        self.snapshots = snapshots;
        self.here = current.into_iter().find_map(|current| current.parent);
    }
}
