//! What all calls share: the state, the driver, the faults asked for.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tempfile::NamedTempFile;
use tokio::sync::Semaphore;

use crate::api::schema::Schema;
use crate::driver::{GuestDriver, GuestEvent};
use crate::faults::Faults;
use crate::log::RequestLog;
use crate::state::{State, now};

/// The version whose answers are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PveVersion {
    /// 9.2.11.
    #[default]
    V9,
    /// 8.4.1.
    V8,
}

/// What does not change while a lab runs.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) version: PveVersion,
    /// Scales PVE's waits: 1 is as PVE, 0 is at once.
    pub(crate) delays: f64,
    /// How long `/cluster/resources` does not know a new guest.
    pub(crate) lag: Duration,
    /// Added to every answer.
    pub(crate) latency: Duration,
    /// How many calls a node works on at a time.
    pub(crate) places: Option<usize>,
}

/// Guards a guest's configuration against two writers, as PVE's lock files do.
#[derive(Debug, Default)]
pub(crate) struct Locks {
    held: Mutex<HashSet<u32>>,
    freed: Condvar,
}

/// Frees a guest's lock when it goes.
pub(crate) struct Held<'a> {
    locks: &'a Locks,
    vmid: u32,
}

impl Drop for Held<'_> {
    fn drop(&mut self) {
        self.locks.free(self.vmid);
    }
}

impl Locks {
    /// Takes a guest's lock, or fails with PVE's words after `timeout`.
    pub(crate) fn take(&self, vmid: u32, timeout: Duration) -> Result<Held<'_>, String> {
        let end = Instant::now() + timeout;
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        while held.contains(&vmid) {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(format!(
                    "can't lock file '/var/lock/qemu-server/lock-{vmid}.conf' - got timeout"
                ));
            }
            held = self.freed.wait_timeout(held, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        held.insert(vmid);
        Ok(Held { locks: self, vmid })
    }

    /// Takes a lock that someone else frees.
    pub(crate) fn hold(&self, vmid: u32) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).insert(vmid);
    }

    /// Frees a lock.
    pub(crate) fn free(&self, vmid: u32) {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).remove(&vmid);
        self.freed.notify_all();
    }
}

/// What all calls share.
pub(crate) struct Shared {
    pub(crate) settings: Settings,
    pub(crate) state: Mutex<State>,
    pub(crate) driver: Arc<dyn GuestDriver>,
    pub(crate) schema: Schema,
    pub(crate) log: RequestLog,
    pub(crate) faults: Mutex<Faults>,
    pub(crate) locks: Locks,
    pub(crate) started: Instant,
    /// The certificate's SHA-256, as PVE shows it.
    pub(crate) fingerprint: String,
    /// The places of each node, if their number is limited.
    pub(crate) node_places: Mutex<HashMap<String, Arc<Semaphore>>>,
    /// Uploaded files that no task has taken yet.
    pub(crate) spooled: Mutex<HashMap<String, NamedTempFile>>,
}

impl Shared {
    /// The state, to be held for moments only.
    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The faults asked for.
    pub(crate) fn faults(&self) -> MutexGuard<'_, Faults> {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps an uploaded file for the task that takes it.
    pub(crate) fn spool(&self, name: &str, file: NamedTempFile) {
        let mut spooled = self.spooled.lock().unwrap_or_else(PoisonError::into_inner);
        spooled.insert(name.to_owned(), file);
    }

    /// Takes an uploaded file, which goes when it is dropped.
    pub(crate) fn take_spooled(&self, name: &str) -> Option<NamedTempFile> {
        self.spooled.lock().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    /// One of PVE's waits, scaled.
    pub(crate) fn delay(&self, seconds: f64) -> Duration {
        Duration::from_secs_f64(seconds * self.settings.delays)
    }

    /// How long a guest's lock is waited for: 10 s in PVE. A fast lab still gives two calls that
    /// meet the time to pass each other.
    pub(crate) fn lock_timeout(&self) -> Duration {
        self.delay(10.0).max(Duration::from_millis(500))
    }

    /// Milliseconds since the lab began.
    pub(crate) fn age(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    /// When the statistics will know a guest made now.
    pub(crate) fn known_from(&self) -> u64 {
        self.age() + u64::try_from(self.settings.lag.as_millis()).unwrap_or(0)
    }

    /// A node's places, if calls have to queue for them.
    pub(crate) fn places(&self, node: &str) -> Option<Arc<Semaphore>> {
        let count = self.settings.places?;
        let mut places = self.node_places.lock().unwrap_or_else(PoisonError::into_inner);
        let entry =
            places.entry(node.to_owned()).or_insert_with(|| Arc::new(Semaphore::new(count)));
        Some(Arc::clone(entry))
    }

    /// Changes the guest that a path names, so that a digest read before is stale.
    pub(crate) fn touch(&self, path: &str) {
        let mut state = self.state();
        let vmid = path.split('/').find_map(|part| part.parse::<u32>().ok());
        if let Some(guest) = vmid.and_then(|vmid| state.guests.get_mut(&vmid)) {
            let text = guest.config.main.entry("description".to_owned()).or_default();
            text.push_str("changed by someone else\n");
            let vmid = guest.vmid;
            state.save_guest(vmid);
        }
        let storage = path.strip_prefix("/storage/").unwrap_or_default();
        if let Some(storage) = state.cluster.storages.get_mut(storage) {
            storage.content.push(format!("other{}", storage.content.len()));
            state.save_cluster();
        }
    }

    /// Whether 8.4 is served.
    pub(crate) fn old(&self) -> bool {
        self.settings.version == PveVersion::V8
    }

    /// What a guest did by itself changes the state, as PVE's cleanup daemon would.
    pub(crate) fn event(&self, event: GuestEvent) {
        let mut state = self.state();
        match event {
            GuestEvent::PoweredOff { vmid } => state.stopped(vmid),
            GuestEvent::Rebooted { vmid, pid } => {
                if let Some(running) = state.guests.get_mut(&vmid).and_then(|g| g.running.as_mut())
                {
                    running.pid = pid;
                    running.since = now();
                }
            }
        }
    }
}

impl State {
    /// A guest stopped: what was pending comes into force.
    pub(crate) fn stopped(&mut self, vmid: u32) {
        if let Some(guest) = self.guests.get_mut(&vmid) {
            guest.running = None;
            guest.config.apply_pending();
            self.save_guest(vmid);
        }
    }
}
