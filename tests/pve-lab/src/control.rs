//! Faults on request while a lab runs: by a test that holds it, or through a socket that has nothing
//! to do with the API.
//!
//! The socket takes one line of JSON, a [`Fault`], and answers with one line: `{"ok":true}` or
//! `{"error":"..."}`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::driver::{AgentScript, StateOnly};
use crate::faults::{CallFault, Faults, PlannedCall, PlannedTask, TaskFault};
use crate::shared::Shared;

/// How long a client of the socket has for its line.
const PATIENCE: Duration = Duration::from_secs(5);

/// What shall go wrong.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// A guest has this `lock` setting for so long.
    Lock {
        /// The guest.
        vmid: u32,
        /// PVE's word: `backup`.
        lock: String,
        /// How long.
        time: Duration,
    },
    /// A guest's lock file is held for so long: others fail with `got timeout`.
    Hold {
        /// The guest.
        vmid: u32,
        /// How long.
        time: Duration,
    },
    /// What the next tasks of a type meet.
    Task {
        /// The type: `qmcreate`.
        kind: String,
        /// How many tasks.
        times: u32,
        /// What they meet.
        fault: TaskFault,
    },
    /// What the next calls meet.
    Call {
        /// The method.
        method: String,
        /// A part of the path.
        part: String,
        /// How many calls.
        times: u32,
        /// What they meet.
        fault: CallFault,
    },
    /// What a state-only guest's agent does from now on.
    Agent {
        /// The guest.
        vmid: u32,
        /// What it does.
        script: AgentScript,
    },
    /// A state-only guest powers off by itself.
    PowerOff {
        /// The guest.
        vmid: u32,
    },
    /// How much is free on a storage.
    Free {
        /// The storage.
        storage: String,
        /// How many bytes.
        bytes: u64,
    },
    /// A node is off the network, or back.
    Offline {
        /// The node.
        node: String,
        /// Whether it is off.
        offline: bool,
    },
    /// Faults of tasks and calls that have not happened yet do not.
    Clear,
}

/// Lets it happen.
pub(crate) fn apply(
    fault: Fault,
    shared: &Arc<Shared>,
    state_only: Option<&StateOnly>,
) -> anyhow::Result<()> {
    let guest = |vmid: u32| match shared.state().guests.contains_key(&vmid) {
        true => Ok(()),
        false => bail!("there is no guest {vmid}"),
    };
    let scripted = || state_only.context("the agents of real guests are their own");
    match fault {
        Fault::Lock { vmid, lock, time } => {
            guest(vmid)?;
            set_lock(shared, vmid, Some(&lock));
            later(shared, time, move |shared| set_lock(shared, vmid, None));
        }
        Fault::Hold { vmid, time } => {
            shared.locks.hold(vmid);
            later(shared, time, move |shared| shared.locks.free(vmid));
        }
        Fault::Task { kind, times, fault } => {
            shared.faults().tasks.push(PlannedTask { kind, fault, left: times });
        }
        Fault::Call { method, part, times, fault } => {
            shared.faults().calls.push(PlannedCall { method, part, fault, left: times });
        }
        Fault::Agent { vmid, script } => scripted()?.script(vmid, script),
        Fault::PowerOff { vmid } => {
            guest(vmid)?;
            scripted()?.power_off(vmid);
        }
        Fault::Free { storage, bytes } => {
            let mut state = shared.state();
            let found = state.cluster.storages.get_mut(&storage);
            found.with_context(|| format!("there is no storage {storage}"))?.free = Some(bytes);
        }
        Fault::Offline { node, offline } => {
            let mut state = shared.state();
            let found = state.cluster.nodes.get_mut(&node);
            found.with_context(|| format!("there is no node {node}"))?.offline = offline;
        }
        Fault::Clear => *shared.faults() = Faults::default(),
    }
    Ok(())
}

fn later(shared: &Arc<Shared>, time: Duration, what: impl FnOnce(&Shared) + Send + 'static) {
    let shared = Arc::clone(shared);
    std::thread::spawn(move || {
        std::thread::sleep(time);
        what(&shared);
    });
}

fn set_lock(shared: &Shared, vmid: u32, lock: Option<&str>) {
    let mut state = shared.state();
    if let Some(guest) = state.guests.get_mut(&vmid) {
        match lock {
            Some(lock) => guest.config.main.insert("lock".to_owned(), lock.to_owned()),
            None => guest.config.main.remove("lock"),
        };
    }
    state.save_guest(vmid);
}

/// Listens on a socket for as long as the process lives.
pub(crate) fn listen(
    path: &Path,
    shared: &Arc<Shared>,
    state_only: Option<&Arc<StateOnly>>,
) -> anyhow::Result<()> {
    // a lab that was killed leaves its socket behind
    let _ = std::fs::remove_file(path);
    let listener = UnixListener::bind(path)
        .with_context(|| format!("failed to listen on {}", path.display()))?;
    let (shared, state_only) = (Arc::clone(shared), state_only.map(Arc::clone));
    std::thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            // one that goes away without its answer does not matter
            let _ = answer(&stream, &shared, state_only.as_deref());
        }
    });
    Ok(())
}

fn answer(
    mut stream: &UnixStream,
    shared: &Arc<Shared>,
    state_only: Option<&StateOnly>,
) -> anyhow::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut line = String::new();
    BufReader::new(stream).read_line(&mut line)?;
    let done = serde_json::from_str(&line)
        .context("that is no fault")
        .and_then(|fault| apply(fault, shared, state_only));
    let answer = match done {
        Ok(()) => json!({"ok": true}),
        Err(error) => json!({"error": format!("{error:#}")}),
    };
    writeln!(stream, "{answer}")?;
    Ok(())
}

/// Asks the lab at a socket for a fault.
pub fn ask(path: &Path, fault: &Fault) -> anyhow::Result<()> {
    let mut stream = UnixStream::connect(path)
        .with_context(|| format!("failed to reach a lab at {}", path.display()))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    writeln!(stream, "{}", serde_json::to_string(fault)?)?;
    let mut line = String::new();
    BufReader::new(&stream).read_line(&mut line)?;
    let answer: Value = serde_json::from_str(&line).context("the lab did not answer")?;
    match answer["error"].as_str() {
        Some(error) => bail!("{error}"),
        None => Ok(()),
    }
}
