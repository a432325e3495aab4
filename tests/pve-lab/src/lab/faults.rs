//! Faults on request, as methods.

use std::path::Path;
use std::time::Duration;

use super::Lab;
use crate::control::{self, Fault};
use crate::driver::AgentScript;
use crate::faults::{CallFault, TaskFault};

impl Lab {
    /// Lets something go wrong. Panics if there is no such guest, node or storage: this is for
    /// tests.
    #[track_caller]
    pub fn fault(&self, fault: Fault) {
        #[expect(clippy::expect_used, reason = "a fault that does not happen tests nothing")]
        control::apply(fault, &self.shared, self.state_only.as_deref()).expect("it can happen");
    }

    /// Takes faults from a socket as well.
    pub fn listen_for_faults(&self, path: &Path) -> anyhow::Result<()> {
        control::listen(path, &self.shared, self.state_only.as_ref())
    }

    /// Tells the agent of a state-only guest what to do from now on.
    #[track_caller]
    pub fn script_agent(&self, vmid: u32, script: AgentScript) {
        self.fault(Fault::Agent { vmid, script });
    }

    /// A state-only guest powers off by itself.
    #[track_caller]
    pub fn power_off(&self, vmid: u32) {
        self.fault(Fault::PowerOff { vmid });
    }

    /// What a call to `METHOD .../part...` meets, the next `times` times.
    pub fn fail_calls(&self, method: &str, part: &str, times: u32, fault: CallFault) {
        let (method, part) = (method.to_owned(), part.to_owned());
        self.fault(Fault::Call { method, part, times, fault });
    }

    /// What the next `times` tasks of a type (`qmcreate`) meet.
    pub fn fail_tasks(&self, kind: &str, times: u32, fault: TaskFault) {
        self.fault(Fault::Task { kind: kind.to_owned(), times, fault });
    }

    /// Holds the lock file of a guest for so long: others fail with `got timeout`.
    pub fn hold_lock(&self, vmid: u32, time: Duration) {
        self.fault(Fault::Hold { vmid, time });
    }

    /// Sets a guest's `lock` setting (`backup`), for so long.
    #[track_caller]
    pub fn lock_guest(&self, vmid: u32, lock: &str, time: Duration) {
        self.fault(Fault::Lock { vmid, lock: lock.to_owned(), time });
    }

    /// Takes a node off the network, or puts it back.
    #[track_caller]
    pub fn set_offline(&self, node: &str, offline: bool) {
        self.fault(Fault::Offline { node: node.to_owned(), offline });
    }

    /// How much is free on a storage.
    #[track_caller]
    pub fn set_free(&self, storage: &str, bytes: u64) {
        self.fault(Fault::Free { storage: storage.to_owned(), bytes });
    }
}
