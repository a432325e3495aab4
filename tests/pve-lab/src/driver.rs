//! The seam between the API half of the lab and the guests behind it.
//!
//! The API knows configurations, tasks and permissions; a driver knows how a guest comes to life.
//! Every method blocks until its effect is there: the API calls them on threads of their own and
//! never while it holds its state. Paths are absolute paths in the lab's directory.

mod state_only;
mod volume_file;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

pub use state_only::{AgentScript, StateOnly};

/// How a volume is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VolumeFormat {
    /// The bytes of the disk.
    Raw,
    /// QEMU's copy-on-write format.
    Qcow2,
    /// VMware's format, for imports only.
    Vmdk,
}

impl VolumeFormat {
    /// The format's word, which is also the file's extension.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
            Self::Vmdk => "vmdk",
        }
    }

    /// The format a file name promises.
    pub fn of_path(path: &Path) -> Self {
        match path.extension().and_then(|e| e.to_str()) {
            Some("qcow2") => Self::Qcow2,
            Some("vmdk") => Self::Vmdk,
            _ => Self::Raw,
        }
    }
}

/// What a driver found out about a volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VolumeInfo {
    /// The format found in the file.
    pub format: VolumeFormat,
    /// The size of the disk as the guest sees it, in bytes.
    pub virtual_size: u64,
    /// Bytes used on the host.
    pub used: u64,
}

/// A network card of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Nic {
    /// The number in `net0`.
    pub slot: u32,
    /// The model, `virtio` or `e1000`.
    pub model: String,
    /// The MAC address in the case of the configuration.
    pub mac: String,
    /// The bridge, if it is plugged into one.
    pub bridge: Option<String>,
    /// The VLAN of the port.
    pub tag: Option<u16>,
    /// Whether the link is up.
    pub link_up: bool,
}

/// A disk of a guest; CD-ROMs and the cloud-init drive are not among them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Disk {
    /// The slot, `scsi0`.
    pub slot: String,
    /// The volume's file.
    pub path: PathBuf,
    /// Its format.
    pub format: VolumeFormat,
    /// Whether the boot order names it first.
    pub boot: bool,
}

/// The texts of a NoCloud seed, as PVE writes them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seed {
    /// `user-data`.
    pub user_data: String,
    /// `network-config`.
    pub network_config: String,
    /// `meta-data`.
    pub meta_data: String,
    /// `vendor-data`, empty unless `cicustom` names one.
    pub vendor_data: String,
}

/// All that a driver needs to start a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestDefinition {
    /// The guest's number.
    pub vmid: u32,
    /// Its name, or `VM 100` if it has none.
    pub name: String,
    /// The node it runs on.
    pub node: String,
    /// Memory in MiB.
    pub memory: u64,
    /// Cores times sockets.
    pub cpus: u32,
    /// Its network cards by slot.
    pub nics: Vec<Nic>,
    /// Its disks in boot order, then by slot.
    pub disks: Vec<Disk>,
    /// The seed, if a cloud-init drive is attached.
    pub seed: Option<Seed>,
    /// Whether the agent's port is plugged.
    pub agent: bool,
    /// The UUID of `smbios1`.
    pub uuid: String,
}

/// Whether a guest runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestStatus {
    /// No process.
    Stopped,
    /// Running under this process id.
    Running {
        /// The process id to show in the API.
        pid: u32,
    },
    /// Frozen by `suspend`.
    Paused {
        /// The process id to show in the API.
        pid: u32,
    },
}

/// What a guest did by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestEvent {
    /// It powered off, or its process died.
    PoweredOff {
        /// The guest.
        vmid: u32,
    },
    /// It rebooted and runs under a new process; the driver has started it again.
    Rebooted {
        /// The guest.
        vmid: u32,
        /// The new process id.
        pid: u32,
    },
}

/// Takes events of guests; it never blocks.
pub type EventSink = Arc<dyn Fn(GuestEvent) + Send + Sync>;

/// Why a driver could not do what was asked. Its text ends a task, as PVE's own texts do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverError(pub String);

impl DriverError {
    /// An error with this text.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }
}

impl std::fmt::Display for DriverError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for DriverError {}

impl From<std::io::Error> for DriverError {
    fn from(e: std::io::Error) -> Self {
        Self(e.to_string())
    }
}

/// Why the agent gave no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentError {
    /// Nobody listens: PVE says `QEMU guest agent is not running`, after 3 s.
    NotRunning,
    /// Somebody listens and does not answer: PVE says the command timed out.
    Timeout,
    /// The agent refused; the text is its `desc`.
    Refused(String),
}

/// Makes guests real, or pretends to.
pub trait GuestDriver: Send + Sync + 'static {
    /// Prepares the host (bridges, names, package server) and learns where events go.
    ///
    /// Whatever a former lab in the same directory left behind is removed, unless its guests
    /// still run: [`GuestDriver::running`] then lists them.
    fn up(&self, bridges: &[String], events: EventSink) -> Result<(), DriverError>;

    /// Stops all guests and removes every trace of the lab from the host.
    fn down(&self) -> Result<(), DriverError>;

    /// The guests that run, a lab that was restarted included.
    fn running(&self) -> Vec<(u32, GuestStatus)>;

    /// Makes an empty volume.
    fn create_volume(
        &self,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError>;

    /// Copies a volume or an image into a new one, changing its format if they differ.
    fn import_volume(
        &self,
        source: &Path,
        target: &Path,
        format: VolumeFormat,
    ) -> Result<(), DriverError>;

    /// Reads a volume's header.
    fn volume_info(&self, path: &Path) -> Result<VolumeInfo, DriverError>;

    /// Grows a volume, which a running guest may be using.
    fn resize_volume(
        &self,
        vmid: Option<u32>,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError>;

    /// Removes a volume's file.
    fn remove_volume(&self, path: &Path) -> Result<(), DriverError>;

    /// Starts a guest and returns its process id once it boots.
    fn start(&self, guest: &GuestDefinition) -> Result<u32, DriverError>;

    /// Asks the guest to power off, by its agent or as a power button would, and waits for it.
    /// Returns whether it did so in time. No event is sent for what was asked for.
    fn shutdown(&self, vmid: u32, timeout: Duration) -> Result<bool, DriverError>;

    /// Ends a guest at once. No event is sent. Stopping a stopped guest is no error.
    fn stop(&self, vmid: u32) -> Result<(), DriverError>;

    /// Freezes a guest.
    fn suspend(&self, vmid: u32) -> Result<(), DriverError>;

    /// Thaws a guest.
    fn resume(&self, vmid: u32) -> Result<(), DriverError>;

    /// Whether a guest runs.
    fn status(&self, vmid: u32) -> GuestStatus;

    /// Takes a new seed for a running guest; it is read at the next boot.
    fn reseed(&self, vmid: u32, seed: &Seed) -> Result<(), DriverError>;

    /// Plugs and unplugs network cards of a running guest. The whole new list is given.
    fn rewire(&self, vmid: u32, nics: &[Nic]) -> Result<(), DriverError>;

    /// Sends one command, `guest-network-get-interfaces`, to the guest's agent and returns what
    /// stands under `return`.
    fn agent(
        &self,
        vmid: u32,
        command: &str,
        arguments: &Value,
        timeout: Duration,
    ) -> Result<Value, AgentError>;

    /// In which format a volume's bytes are kept whose name promises this one. A driver that can
    /// boot raw files only keeps all volumes raw, and nobody sees it in the API.
    fn stores(&self, format: VolumeFormat) -> VolumeFormat {
        format
    }

    /// Name servers and search domains of the node, which guests get that name none.
    fn dns(&self) -> (Vec<String>, Vec<String>) {
        (Vec::new(), Vec::new())
    }

    /// How long the API waits before it passes a command to the agent; only for scripted guests.
    fn agent_delay(&self, _vmid: u32, _command: &str) -> Duration {
        Duration::ZERO
    }
}
