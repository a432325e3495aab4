//! Guests without a body: they run at once, and their agents say what a script tells them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::volume_file::{make, read_info};
use super::{
    AgentError, DriverError, EventSink, GuestDefinition, GuestDriver, GuestEvent, GuestStatus, Nic,
    Seed, VolumeFormat, VolumeInfo,
};

/// What a scripted agent does.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct AgentScript {
    /// Answers by command (`guest-network-get-interfaces`), in place of the built-in ones.
    pub answers: HashMap<String, Value>,
    /// Nobody listens on the agent's port.
    pub not_running: bool,
    /// The agent takes commands and never answers.
    pub timeout: bool,
    /// How long each answer takes.
    pub latency: Duration,
}

#[derive(Default)]
struct Guest {
    definition: Option<GuestDefinition>,
    pid: Option<u32>,
    paused: bool,
    script: AgentScript,
    execs: HashMap<u64, Value>,
    /// Contents by path, in base64.
    files: HashMap<String, String>,
}

#[derive(Default)]
struct Inner {
    guests: HashMap<u32, Guest>,
    events: Option<EventSink>,
    last_pid: u32,
}

/// The driver of state-only labs.
#[derive(Default)]
pub struct StateOnly {
    inner: Mutex<Inner>,
}

impl StateOnly {
    /// A driver without guests.
    pub fn new() -> Self {
        Self::default()
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells a guest's agent what to say from now on.
    pub fn script(&self, vmid: u32, script: AgentScript) {
        self.inner().guests.entry(vmid).or_default().script = script;
    }

    /// Lets a guest run without a start, as a fleet that was there before.
    pub fn running_already(&self, definition: GuestDefinition) {
        let mut inner = self.inner();
        inner.last_pid += 1;
        let pid = 1000 + inner.last_pid;
        let guest = inner.guests.entry(definition.vmid).or_default();
        guest.pid = Some(pid);
        guest.definition = Some(definition);
    }

    /// The guest powers off by itself.
    pub fn power_off(&self, vmid: u32) {
        let sink = {
            let mut inner = self.inner();
            if let Some(guest) = inner.guests.get_mut(&vmid) {
                guest.pid = None;
            }
            inner.events.clone()
        };
        if let Some(sink) = sink {
            sink(GuestEvent::PoweredOff { vmid });
        }
    }
}

/// The interfaces of a guest nobody wrote a script for: lo, and each card under its own name.
fn interfaces(guest: &GuestDefinition) -> Value {
    let zero = json!({"rx-bytes": 0, "rx-packets": 0, "rx-errs": 0, "rx-dropped": 0,
        "tx-bytes": 0, "tx-packets": 0, "tx-errs": 0, "tx-dropped": 0});
    let mut rows = vec![json!({"name": "lo", "hardware-address": "00:00:00:00:00:00",
        "statistics": zero, "ip-addresses": [
        {"ip-address": "127.0.0.1", "ip-address-type": "ipv4", "prefix": 8},
        {"ip-address": "::1", "ip-address-type": "ipv6", "prefix": 128}]})];
    for nic in &guest.nics {
        let host = guest.vmid % 250 + 1;
        rows.push(json!({"name": format!("eth{}", nic.slot),
            "hardware-address": nic.mac.to_lowercase(), "statistics": zero, "ip-addresses": [
            {"ip-address": format!("10.77.{}.{host}", nic.slot), "ip-address-type": "ipv4",
             "prefix": 24},
            {"ip-address": format!("fe80::{:x}", guest.vmid), "ip-address-type": "ipv6",
             "prefix": 64}]}));
    }
    Value::Array(rows)
}

impl Guest {
    fn answer(&mut self, command: &str, arguments: &Value) -> Result<Value, AgentError> {
        if let Some(answer) = self.script.answers.get(command) {
            return Ok(answer.clone());
        }
        let Some(definition) = &self.definition else { return Err(AgentError::NotRunning) };
        let handle = arguments.get("handle").and_then(Value::as_str).unwrap_or_default();
        let file = arguments.get("path").and_then(Value::as_str).unwrap_or_default();
        Ok(match command {
            "guest-network-get-interfaces" => interfaces(definition),
            "guest-get-host-name" => json!({"host-name": definition.name}),
            "guest-get-osinfo" => json!({"id": "debian", "name": "Debian GNU/Linux",
                "pretty-name": "Debian GNU/Linux 13 (trixie)", "version": "13 (trixie)",
                "version-id": "13", "machine": "x86_64", "kernel-release": "6.12.0-amd64",
                "kernel-version": "#1 SMP"}),
            "guest-get-time" => json!(1_796_089_544_000_000_000_u64),
            "guest-get-timezone" => json!({"zone": "UTC", "offset": 0}),
            "guest-get-vcpus" => json!([{"logical-id": 0, "online": true, "can-offline": false}]),
            "guest-get-users" | "guest-get-fsinfo" => json!([]),
            "guest-fsfreeze-status" => json!("thawed"),
            "guest-info" => json!({"version": "10.0.0", "supported_commands": []}),
            "guest-exec" => {
                let path = file.to_owned();
                if path.starts_with("/nonexistent") {
                    return Err(AgentError::Refused(format!(
                        "Guest agent command failed, error was 'Failed to execute child process \
                         \u{201c}{path}\u{201d} (No such file or directory)'"
                    )));
                }
                let pid = 700 + self.execs.len() as u64;
                self.execs.insert(pid, json!({"exited": true, "exitcode": 0}));
                json!({"pid": pid})
            }
            "guest-exec-status" => {
                let pid = arguments.get("pid").and_then(Value::as_u64).unwrap_or(0);
                match self.execs.get(&pid) {
                    Some(status) => status.clone(),
                    None => {
                        return Err(AgentError::Refused("Invalid parameter 'pid'".into()));
                    }
                }
            }
            "guest-file-open" => {
                let reads = arguments.get("mode").and_then(Value::as_str) != Some("w");
                if reads && !self.files.contains_key(file) {
                    return Err(AgentError::Refused(format!(
                        "failed to open file '{file}' (mode: 'r'): No such file or directory"
                    )));
                }
                // the handle is the path: nothing has to be remembered
                json!(file)
            }
            "guest-file-read" => {
                let text = self.files.get(handle).cloned().unwrap_or_default();
                json!({"count": text.len(), "buf-b64": text, "eof": true})
            }
            "guest-file-write" => {
                let text = arguments.get("buf-b64").and_then(Value::as_str).unwrap_or_default();
                self.files.insert(handle.to_owned(), text.to_owned());
                json!({"count": text.len(), "eof": false})
            }
            _ => json!({}),
        })
    }
}

impl GuestDriver for StateOnly {
    fn up(&self, _bridges: &[String], events: EventSink) -> Result<(), DriverError> {
        self.inner().events = Some(events);
        Ok(())
    }

    fn down(&self) -> Result<(), DriverError> {
        self.inner().guests.clear();
        Ok(())
    }

    fn running(&self) -> Vec<(u32, GuestStatus)> {
        let inner = self.inner();
        inner
            .guests
            .iter()
            .filter_map(|(&vmid, guest)| guest.status().map(|status| (vmid, status)))
            .collect()
    }

    fn create_volume(
        &self,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError> {
        Ok(make(path, format, size)?)
    }

    fn import_volume(
        &self,
        source: &Path,
        target: &Path,
        format: VolumeFormat,
    ) -> Result<(), DriverError> {
        let size = read_info(source)?.virtual_size;
        Ok(make(target, format, size)?)
    }

    fn volume_info(&self, path: &Path) -> Result<VolumeInfo, DriverError> {
        Ok(read_info(path)?)
    }

    fn resize_volume(
        &self,
        _vmid: Option<u32>,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError> {
        Ok(make(path, format, size)?)
    }

    fn remove_volume(&self, path: &Path) -> Result<(), DriverError> {
        Ok(fs::remove_file(path)?)
    }

    fn start(&self, guest: &GuestDefinition) -> Result<u32, DriverError> {
        let mut inner = self.inner();
        inner.last_pid += 1;
        let pid = 1000 + inner.last_pid;
        let entry = inner.guests.entry(guest.vmid).or_default();
        entry.definition = Some(guest.clone());
        entry.pid = Some(pid);
        entry.paused = false;
        Ok(pid)
    }

    fn shutdown(&self, vmid: u32, _timeout: Duration) -> Result<bool, DriverError> {
        let mut inner = self.inner();
        let Some(guest) = inner.guests.get_mut(&vmid) else { return Ok(true) };
        // nobody in the guest hears a power button; only an agent that answers can shut it down
        let hears = guest.definition.as_ref().is_some_and(|d| d.agent)
            && !guest.script.not_running
            && !guest.script.timeout;
        if hears {
            guest.pid = None;
        }
        Ok(hears)
    }

    fn stop(&self, vmid: u32) -> Result<(), DriverError> {
        if let Some(guest) = self.inner().guests.get_mut(&vmid) {
            guest.pid = None;
        }
        Ok(())
    }

    fn suspend(&self, vmid: u32) -> Result<(), DriverError> {
        if let Some(guest) = self.inner().guests.get_mut(&vmid) {
            guest.paused = true;
        }
        Ok(())
    }

    fn resume(&self, vmid: u32) -> Result<(), DriverError> {
        if let Some(guest) = self.inner().guests.get_mut(&vmid) {
            guest.paused = false;
        }
        Ok(())
    }

    fn status(&self, vmid: u32) -> GuestStatus {
        let inner = self.inner();
        inner.guests.get(&vmid).and_then(Guest::status).unwrap_or(GuestStatus::Stopped)
    }

    fn reseed(&self, _vmid: u32, _seed: &Seed) -> Result<(), DriverError> {
        Ok(())
    }

    fn rewire(&self, vmid: u32, nics: &[Nic]) -> Result<(), DriverError> {
        if let Some(definition) =
            self.inner().guests.get_mut(&vmid).and_then(|g| g.definition.as_mut())
        {
            definition.nics = nics.to_vec();
        }
        Ok(())
    }

    fn agent(
        &self,
        vmid: u32,
        command: &str,
        arguments: &Value,
        _timeout: Duration,
    ) -> Result<Value, AgentError> {
        let mut inner = self.inner();
        let guest = inner.guests.get_mut(&vmid).ok_or(AgentError::NotRunning)?;
        if guest.script.not_running || guest.pid.is_none() {
            return Err(AgentError::NotRunning);
        }
        if guest.script.timeout {
            return Err(AgentError::Timeout);
        }
        guest.answer(command, arguments)
    }

    fn agent_delay(&self, vmid: u32, _command: &str) -> Duration {
        self.inner().guests.get(&vmid).map_or(Duration::ZERO, |g| g.script.latency)
    }
}

impl Guest {
    fn status(&self) -> Option<GuestStatus> {
        let pid = self.pid?;
        Some(if self.paused { GuestStatus::Paused { pid } } else { GuestStatus::Running { pid } })
    }
}
