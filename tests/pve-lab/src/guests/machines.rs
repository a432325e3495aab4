//! The guests of one lab: started, watched, started again when they reboot, and ended.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;
use std::process::Child;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::cgroup::Cgroup;
use super::launch::{self, Machine, Places};
use crate::driver::{EventSink, GuestEvent};

/// How nspawn ends when the guest wants to boot again.
const REBOOT: i32 = 133;

/// How often guests that an earlier lab started are looked at; they are nobody's children.
const WATCH: Duration = Duration::from_millis(200);

/// Where a lab keeps its guests.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// On disk, one directory per guest.
    pub(crate) state: PathBuf,
    /// On tmpfs, one directory per guest.
    pub(crate) run: PathBuf,
    /// The lab's group.
    pub(crate) group: Cgroup,
}

impl Home {
    /// The places of a guest.
    pub(crate) fn of(&self, vmid: u32) -> Places {
        Places {
            state: self.state.join(vmid.to_string()),
            run: self.run.join(vmid.to_string()),
            group: self.group.child(&format!("guest-{vmid}")),
        }
    }

    fn file(&self, vmid: u32) -> PathBuf {
        self.state.join(vmid.to_string()).join("machine.json")
    }
}

/// A guest that runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Running {
    /// Its launcher.
    pub(crate) pid: u32,
    /// Whether it is frozen.
    pub(crate) paused: bool,
    /// Whether its end was asked for, so that it is no event.
    asked: bool,
    /// Tells a guest from the one that ran under the same number before.
    generation: u64,
}

#[derive(Default)]
struct Table {
    running: HashMap<u32, Running>,
    last_generation: u64,
}

struct Inner {
    home: Home,
    table: Mutex<Table>,
    changed: Condvar,
    events: Mutex<Option<EventSink>>,
}

/// The guests of one lab.
#[derive(Clone)]
pub(crate) struct Machines(Arc<Inner>);

impl Machines {
    /// A lab without guests.
    pub(crate) fn new(home: Home) -> Self {
        Self(Arc::new(Inner {
            home,
            table: Mutex::default(),
            changed: Condvar::new(),
            events: Mutex::default(),
        }))
    }

    /// Where this lab keeps its guests.
    pub(crate) fn home(&self) -> &Home {
        &self.0.home
    }

    /// Says where events go.
    pub(crate) fn send_events_to(&self, events: EventSink) {
        *self.0.events.lock().unwrap_or_else(PoisonError::into_inner) = Some(events);
    }

    /// Takes over the guests that an earlier lab in this place left running, and removes what is
    /// left of those that ended meanwhile.
    pub(crate) fn adopt(&self) -> Result<()> {
        let Ok(entries) = fs::read_dir(&self.0.home.state) else {
            return Ok(());
        };
        for entry in entries.flatten() {
            let Some(vmid) = entry.file_name().to_str().and_then(|n| n.parse().ok()) else {
                continue;
            };
            let places = self.0.home.of(vmid);
            if let Some(pid) = places.launcher() {
                let generation = self.0.insert(vmid, pid);
                let inner = Arc::clone(&self.0);
                thread::spawn(move || {
                    while places.launcher().is_some() {
                        thread::sleep(WATCH);
                    }
                    inner.ended(vmid, generation);
                });
            } else {
                places.group.remove()?;
                if exit_status(&places) == Some(REBOOT) {
                    let machine = self.0.load(vmid)?;
                    self.start(&machine)?;
                } else {
                    self.0.forget(vmid);
                }
            }
        }
        Ok(())
    }

    /// Boots a guest.
    pub(crate) fn start(&self, machine: &Machine) -> Result<u32> {
        let vmid = machine.vmid;
        if self.get(vmid).is_some() {
            bail!("VM {vmid} already running");
        }
        let file = self.0.home.file(vmid);
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory)
                .with_context(|| format!("cannot make {}", directory.display()))?;
        }
        fs::write(&file, serde_json::to_string_pretty(machine)?)
            .with_context(|| format!("cannot write {}", file.display()))?;
        self.0.boot(machine).inspect_err(|_| self.0.forget(vmid))
    }

    /// A guest, if it runs.
    pub(crate) fn get(&self, vmid: u32) -> Option<Running> {
        self.0.table().running.get(&vmid).copied()
    }

    /// All guests that run.
    pub(crate) fn all(&self) -> Vec<(u32, Running)> {
        let table = self.0.table();
        let mut all: Vec<_> = table.running.iter().map(|(k, v)| (*k, *v)).collect();
        all.sort_by_key(|(vmid, _)| *vmid);
        all
    }

    /// What a running guest is made of.
    pub(crate) fn machine(&self, vmid: u32) -> Result<Machine> {
        self.0.load(vmid)
    }

    /// Changes what a running guest is made of, for its next boot.
    pub(crate) fn remember(&self, machine: &Machine) -> Result<()> {
        let file = self.0.home.file(machine.vmid);
        fs::write(&file, serde_json::to_string_pretty(machine)?)
            .with_context(|| format!("cannot write {}", file.display()))
    }

    /// Asks a guest to end with `ask` and waits for it. Returns whether it ended in time.
    pub(crate) fn end(
        &self,
        vmid: u32,
        timeout: Duration,
        ask: impl FnOnce(&Places) -> Result<()>,
    ) -> Result<bool> {
        let Some(before) = self.0.ask(vmid, true) else {
            return Ok(true);
        };
        if let Err(e) = ask(&self.0.home.of(vmid)) {
            self.0.ask(vmid, false);
            return Err(e);
        }
        let gone = self.0.wait_gone(vmid, before.generation, timeout);
        if !gone {
            self.0.ask(vmid, false);
        }
        Ok(gone)
    }

    /// Kills a guest and waits until nothing is left of it.
    pub(crate) fn kill(&self, vmid: u32) -> Result<()> {
        let gone = self.end(vmid, Duration::from_secs(20), |places| {
            // A frozen process dies of SIGKILL as well.
            places.group.kill()
        })?;
        if gone {
            Ok(())
        } else {
            bail!("VM {vmid} does not end");
        }
    }

    /// Kills all guests at once.
    pub(crate) fn kill_all(&self) -> Result<()> {
        for (vmid, _) in self.all() {
            self.0.ask(vmid, true);
        }
        for (vmid, _) in self.all() {
            self.0.home.of(vmid).group.kill()?;
        }
        for (vmid, running) in self.all() {
            if !self.0.wait_gone(vmid, running.generation, Duration::from_secs(20)) {
                bail!("VM {vmid} does not end");
            }
        }
        Ok(())
    }

    /// Freezes or thaws a guest.
    pub(crate) fn freeze(&self, vmid: u32, frozen: bool) -> Result<()> {
        if self.get(vmid).is_none() {
            bail!("VM {vmid} not running");
        }
        self.0.home.of(vmid).group.freeze(frozen)?;
        if let Some(running) = self.0.table().running.get_mut(&vmid) {
            running.paused = frozen;
        }
        Ok(())
    }
}

/// The power button.
pub(crate) fn power_button(places: &Places) -> Result<()> {
    // A guest that boots nothing has no one to press it for, as a VM without ACPI.
    let Some(pid) = places.nspawn() else {
        return Ok(());
    };
    let pid = i32::try_from(pid).context("a process id out of range")?;
    kill(Pid::from_raw(pid), Signal::SIGTERM).context("cannot signal the guest")
}

fn exit_status(places: &Places) -> Option<i32> {
    fs::read_to_string(places.exit_file()).ok()?.trim().parse().ok()
}

impl Inner {
    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn load(&self, vmid: u32) -> Result<Machine> {
        let file = self.home.file(vmid);
        let text =
            fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("cannot read {}", file.display()))
    }

    fn insert(&self, vmid: u32, pid: u32) -> u64 {
        let mut table = self.table();
        table.last_generation += 1;
        let generation = table.last_generation;
        let running = Running { pid, paused: false, asked: false, generation };
        table.running.insert(vmid, running);
        generation
    }

    fn ask(&self, vmid: u32, asked: bool) -> Option<Running> {
        let mut table = self.table();
        let running = table.running.get_mut(&vmid)?;
        running.asked = asked;
        Some(*running)
    }

    fn wait_gone(&self, vmid: u32, generation: u64, timeout: Duration) -> bool {
        let deadline = Instant::now() + timeout;
        let mut table = self.table();
        loop {
            if table.running.get(&vmid).map(|r| r.generation) != Some(generation) {
                return true;
            }
            let Some(left) = deadline.checked_duration_since(Instant::now()) else {
                return false;
            };
            table =
                self.changed.wait_timeout(table, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    fn boot(self: &Arc<Self>, machine: &Machine) -> Result<u32> {
        let vmid = machine.vmid;
        let child = launch::boot(machine, &self.home.of(vmid))?;
        let pid = child.id();
        let generation = self.insert(vmid, pid);
        let inner = Arc::clone(self);
        thread::spawn(move || {
            wait(child);
            inner.ended(vmid, generation);
        });
        Ok(pid)
    }

    /// What follows when a guest's launcher has ended.
    fn ended(self: &Arc<Self>, vmid: u32, generation: u64) {
        let places = self.home.of(vmid);
        let status = exit_status(&places);
        // If nspawn was killed, the guest's own systemd is still there.
        if let Err(e) = places.group.remove() {
            eprintln!("pve-lab: VM {vmid}: {e:#}");
        }
        let asked = {
            let table = self.table();
            match table.running.get(&vmid) {
                Some(running) if running.generation == generation => running.asked,
                _ => return,
            }
        };
        if status == Some(REBOOT) && !asked {
            match self.load(vmid).and_then(|machine| self.boot(&machine)) {
                Ok(pid) => return self.send(GuestEvent::Rebooted { vmid, pid }),
                Err(e) => eprintln!("pve-lab: VM {vmid} does not boot again: {e:#}"),
            }
        }
        self.forget(vmid);
        self.table().running.remove(&vmid);
        self.changed.notify_all();
        if !asked {
            self.send(GuestEvent::PoweredOff { vmid });
        }
    }

    /// Removes what a guest needs only while it runs; its console log stays.
    fn forget(&self, vmid: u32) {
        let places = self.home.of(vmid);
        if let Ok(machine) = self.load(vmid) {
            launch::unplug(&machine);
        }
        for path in [self.home.file(vmid), places.exit_file()] {
            let _ = fs::remove_file(path);
        }
        let _ = fs::remove_dir(places.state.join("mnt"));
        let _ = fs::remove_dir_all(&places.run);
    }

    fn send(&self, event: GuestEvent) {
        let sink = self.events.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(sink) = sink {
            sink(event);
        }
    }
}

fn wait(mut child: Child) {
    if let Err(e) = child.wait() {
        eprintln!("pve-lab: cannot wait for a guest: {e}");
    }
}
