//! A lab: a PVE of its own on a port of the loopback interface.

mod access;
mod backup;
mod faults;
mod files;

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::api::schema::Schema;
use crate::api::{Certificate, server};
use crate::driver::{GuestDriver, StateOnly};
use crate::faults::Faults;
use crate::fleet::{self, Fleet};
use crate::log::{Request, RequestLog};
use crate::shared::{Locks, PveVersion, Settings, Shared};
use crate::start;
use crate::state::{State, now};

/// The state a lab begins in, unless its directory already holds one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// One node, storage `local`, bridge `vmbr0`, a token; no guests.
    #[default]
    Empty,
    /// The state that the recorded answers of a real PVE began in.
    Recordings,
}

/// How a lab shall be.
pub struct LabConfig {
    /// Where its state lives; a temporary directory if none is given.
    pub dir: Option<PathBuf>,
    /// Where it listens; port 0 takes any.
    pub listen: SocketAddr,
    /// The version whose answers it gives.
    pub version: PveVersion,
    /// The state it begins in.
    pub start: Start,
    /// Scales PVE's own waits (3 s after a refused login or a silent agent): 1 is as PVE.
    pub delays: f64,
    /// How long `/cluster/resources` does not know the name of a new guest; PVE needs up to 10 s.
    pub lag: Duration,
    /// Added to every answer.
    pub latency: Duration,
    /// How many nodes a new lab has: `pve1`, `pve2`, ...
    pub nodes: u32,
    /// How many calls a node works on at a time, if that matters.
    pub places: Option<usize>,
    /// Guests that are there from the beginning, made from a seed.
    pub fleet: Option<Fleet>,
    /// Real guests; state only if none is given.
    pub driver: Option<Arc<dyn GuestDriver>>,
    /// The file that requests are written to.
    pub request_log: Option<PathBuf>,
}

impl Default for LabConfig {
    fn default() -> Self {
        Self {
            dir: None,
            listen: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0),
            version: PveVersion::V9,
            start: Start::Empty,
            delays: 0.0,
            lag: Duration::ZERO,
            latency: Duration::ZERO,
            nodes: 1,
            places: None,
            fleet: None,
            driver: None,
            request_log: None,
        }
    }
}

/// A running lab. It ends when it is dropped; its directory goes too if it was temporary.
pub struct Lab {
    shared: Arc<Shared>,
    state_only: Option<Arc<StateOnly>>,
    address: SocketAddr,
    ca_pem: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    _temporary: Option<tempfile::TempDir>,
}

/// The token of the empty start.
pub const TOKEN_ID: &str = "ansible@pve!ferrite";

impl Lab {
    /// Starts a lab and returns when it answers. Panics if it cannot: this is for tests.
    pub fn start(config: LabConfig) -> Self {
        #[expect(clippy::expect_used, reason = "a test that has no lab has nothing to test")]
        Self::try_start(config).expect("the lab starts")
    }

    /// Starts a lab and returns when it answers.
    pub fn try_start(config: LabConfig) -> anyhow::Result<Self> {
        let (dir, temporary) = match config.dir {
            Some(dir) => (dir, None),
            None => {
                let temporary = tempfile::tempdir().context("failed to make a directory")?;
                (temporary.path().to_owned(), Some(temporary))
            }
        };
        std::fs::create_dir_all(&dir)
            .with_context(|| format!("failed to make {}", dir.display()))?;
        let mut state = match State::load(&dir).context("failed to read the lab's state")? {
            Some(state) => state,
            None => start::state(&dir, config.start, config.nodes)?,
        };
        state.cluster.access.old = config.version == PveVersion::V8;
        let state_only = config.driver.is_none().then(|| Arc::new(StateOnly::new()));
        if let (Some(fleet), Some(driver)) = (&config.fleet, &state_only) {
            fleet::populate(&mut state, fleet, driver);
        }
        let driver: Arc<dyn GuestDriver> = match (config.driver, &state_only) {
            (Some(driver), _) => driver,
            (None, Some(driver)) => Arc::clone(driver) as Arc<dyn GuestDriver>,
            (None, None) => Arc::new(StateOnly::new()),
        };
        let file = config.request_log.as_deref().map(open_log).transpose()?;
        let node = state.cluster.nodes.keys().next().cloned().unwrap_or_default();
        let certificate = Certificate::of(&dir.join("pki"), &node, config.listen.ip())?;
        let shared = Arc::new(Shared {
            settings: Settings {
                version: config.version,
                delays: config.delays,
                lag: config.lag,
                latency: config.latency,
                places: config.places,
            },
            state: Mutex::new(state),
            driver,
            schema: Schema::new(config.version == PveVersion::V8),
            log: RequestLog::new(file),
            faults: Mutex::new(Faults::default()),
            locks: Locks::default(),
            started: Instant::now(),
            fingerprint: certificate.fingerprint.clone(),
            node_places: Mutex::new(HashMap::new()),
            spooled: Mutex::new(HashMap::new()),
        });
        bring_up(&shared)?;
        let ca_pem = certificate.ca_pem.clone();
        let (address, stop, thread) = listen(config.listen, certificate, Arc::clone(&shared))?;
        Ok(Self {
            shared,
            state_only,
            address,
            ca_pem,
            stop: Some(stop),
            thread: Some(thread),
            _temporary: temporary,
        })
    }

    /// `https://127.0.0.1:PORT`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The port it listens on.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// The SHA-256 of its certificate, `1D:8F:...`.
    pub fn fingerprint(&self) -> String {
        self.shared.fingerprint.clone()
    }

    /// The certificate of its authority.
    pub fn ca_pem(&self) -> &str {
        &self.ca_pem
    }

    /// A token with all rights: id and secret.
    pub fn token(&self) -> (String, String) {
        let state = self.shared.state();
        let full = |(user, account): (&String, &crate::state::access::User)| {
            account
                .tokens
                .iter()
                .find(|(_, token)| !token.privsep)
                .map(|(name, token)| (format!("{user}!{name}"), token.secret.clone()))
        };
        let users = &state.cluster.access.users;
        let chosen = TOKEN_ID.split_once('!').and_then(|(user, _)| users.get_key_value(user));
        chosen
            .and_then(full)
            .or_else(|| users.get_key_value("root@pam").and_then(full))
            .unwrap_or_default()
    }

    /// All requests so far, secrets masked.
    pub fn requests(&self) -> Vec<Request> {
        self.shared.log.all()
    }

    /// Forgets the requests so far.
    pub fn clear_requests(&self) {
        self.shared.log.clear();
    }

    /// The directory of its state.
    pub fn dir(&self) -> PathBuf {
        self.shared.state().dir.clone()
    }

    /// A guest's configuration file as it is now.
    pub fn config_text(&self, vmid: u32) -> Option<String> {
        self.shared.state().guests.get(&vmid).map(|guest| guest.config.print())
    }
}

impl AsRef<Lab> for Lab {
    fn as_ref(&self) -> &Lab {
        self
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // a panic of the server has been printed by its thread
            let _ = thread.join();
        }
    }
}

fn open_log(path: &Path) -> anyhow::Result<std::fs::File> {
    std::fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(path)
        .with_context(|| format!("failed to open {}", path.display()))
}

/// Prepares the driver, and takes over guests that still run from before.
fn bring_up(shared: &Arc<Shared>) -> anyhow::Result<()> {
    let bridges: Vec<String> = {
        let state = shared.state();
        state.cluster.nodes.values().flat_map(|node| node.bridges.clone()).collect()
    };
    let weak = Arc::downgrade(shared);
    let sink = Arc::new(move |event| {
        if let Some(shared) = weak.upgrade() {
            shared.event(event);
        }
    });
    shared.driver.up(&bridges, sink).map_err(|e| anyhow::anyhow!("{e}"))?;
    let mut state = shared.state();
    state.forget_unfinished();
    for (vmid, status) in shared.driver.running() {
        use crate::driver::GuestStatus;
        let (pid, paused) = match status {
            GuestStatus::Stopped => continue,
            GuestStatus::Running { pid } => (pid, false),
            GuestStatus::Paused { pid } => (pid, true),
        };
        if let Some(guest) = state.guests.get_mut(&vmid) {
            guest.generated = Some(guest.config.main.clone());
            guest.running = Some(crate::state::guest::Running {
                pid,
                since: now(),
                paused,
                machine: "pc-i440fx-10.0".to_owned(),
            });
        }
    }
    let stopped: Vec<u32> = state
        .guests
        .values()
        .filter(|guest| guest.running.is_none() && !guest.config.pending.is_empty())
        .map(|guest| guest.vmid)
        .collect();
    for vmid in stopped {
        state.stopped(vmid);
    }
    Ok(())
}

type Listening = (SocketAddr, oneshot::Sender<()>, std::thread::JoinHandle<()>);

fn listen(
    wanted: SocketAddr,
    certificate: Certificate,
    shared: Arc<Shared>,
) -> anyhow::Result<Listening> {
    let socket = std::net::TcpListener::bind(wanted)
        .with_context(|| format!("failed to listen on {wanted}"))?;
    socket.set_nonblocking(true)?;
    let address = socket.local_addr()?;
    let (stop, stopped) = oneshot::channel::<()>();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = std::thread::spawn(move || {
        runtime.block_on(async move {
            let Ok(listener) = TcpListener::from_std(socket) else { return };
            tokio::select! {
                () = server::serve(listener, certificate, shared) => {}
                _ = stopped => {}
            }
        });
        // calls that still wait for an agent are given up
        runtime.shutdown_background();
    });
    Ok((address, stop, thread))
}
