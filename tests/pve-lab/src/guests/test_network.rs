//! What the test guests of one process share: a network, its package server and an ssh key.
//!
//! It exists as long as one of them does. What a process that was killed left behind is removed by
//! the next one that makes guests.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicU32;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use anyhow::{Result, bail};

use super::machines::Machines;
use super::{host, leftovers, requirements};
use crate::image::{Suite, cache};
use crate::network::{self, Network, Pool};
use crate::repository;

/// Networks of tests are called this and a name of the process.
const PREFIX: &str = "ft";

static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
/// What the guests of this process share.
pub(super) struct Shared {
    pub(super) name: String,
    pub(super) machines: Machines,
    network: Mutex<Network>,
    gateway: String,
    pub(super) bridge: network::Bridge,
    pub(super) key: PathBuf,
    public_key: String,
    pub(super) next: AtomicU32,
    pub(super) server: repository::Server,
}

impl Shared {
    pub(super) fn get() -> Result<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(standing) = shared.upgrade() {
            return Ok(standing);
        }
        let made = Arc::new(Self::make()?);
        *shared = Arc::downgrade(&made);
        Ok(made)
    }

    fn make() -> Result<Self> {
        if let Err(missing) = requirements() {
            let texts: Vec<String> = missing.iter().map(ToString::to_string).collect();
            bail!("this machine lacks {}", texts.join("; "));
        }
        leftovers::sweep()?;
        let process = Path::new("/proc").join(std::process::id().to_string());
        let name = format!("{PREFIX}{}", leftovers::View::own()?.key(&process));
        remove(&name)?;
        let home = leftovers::home(&name, state(&name))?;
        fs::create_dir_all(&home.state)?;
        leftovers::own(&name, &process)?;
        let mut network =
            Network::up(&name, &["vmbr0".to_owned()], Pool::tests(), &home.group, &home.state)?;
        let started = repository::Server::start(&name);
        let server = match started {
            Ok(server) => server,
            Err(e) => {
                let _ = network.down();
                return Err(e);
            }
        };
        let key = home.state.join("id_ed25519");
        host::finish(
            host::command("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-C", "test", "-f"])
                .arg(&key),
        )?;
        let public_key = fs::read_to_string(key.with_extension("pub"))?;
        let bridge = network.plan().bridges[0].clone();
        Ok(Self {
            name,
            gateway: bridge.gateway(),
            bridge,
            machines: Machines::new(home),
            network: Mutex::new(network),
            key,
            public_key: public_key.trim().to_owned(),
            next: AtomicU32::new(0),
            server,
        })
    }

    /// An ssh that lets in whoever has the key and asks nothing.
    pub(super) fn ssh(&self) -> Command {
        let mut command = host::command("ssh");
        command
            .args(["-F", "none", "-o", "BatchMode=yes", "-o", "ConnectTimeout=5"])
            .args(["-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"])
            .args(["-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"])
            .args(["-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-i"])
            .arg(&self.key);
        command
    }

    pub(super) fn seed(&self, suite: Suite, mac: &str, address: &str) -> Vec<(String, String)> {
        let user_data = format!(
            "#cloud-config\nhostname: test-{suite}\nmanage_etc_hosts: true\n\
             disable_root: false\nssh_authorized_keys:\n  - {key}\n\
             users:\n  - default\n  - name: root\n    ssh_authorized_keys:\n      - {key}\n",
            suite = suite.as_str(),
            key = self.public_key,
        );
        let gateway = &self.gateway;
        let network_config = format!(
            "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      \
             mac_address: '{mac}'\n      subnets:\n      - type: static\n        \
             address: '{address}'\n        netmask: '255.255.255.0'\n        \
             gateway: '{gateway}'\n    - type: nameserver\n      address:\n      \
             - '{gateway}'\n      search:\n      - 'lab.test'\n"
        );
        let meta_data = format!("instance-id: {}-{address}\n", self.name);
        [("user-data", user_data), ("network-config", network_config), ("meta-data", meta_data)]
            .map(|(name, text)| (name.to_owned(), text))
            .to_vec()
    }
}

impl Shared {
    /// What an image without cloud-init learns instead of a seed.
    pub(super) fn credentials(&self, mac: &str, address: &str) -> Vec<(String, String)> {
        let gateway = &self.gateway;
        let network = format!(
            "[Match]\nMACAddress={mac}\n\n[Network]\nAddress={address}/24\n\
             Gateway={gateway}\nDNS={gateway}\nDomains=lab.test\n"
        );
        [
            ("ssh.authorized_keys.root", format!("{}\n", self.public_key)),
            ("network.network.10-net0", network),
        ]
        .map(|(name, text)| (name.to_owned(), text))
        .to_vec()
    }
}

impl Drop for Shared {
    fn drop(&mut self) {
        let network = self.network.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Err(e) = network.down().and_then(|()| remove(&self.name)) {
            eprintln!("cannot remove the network of tests: {e:#}");
        }
    }
}

fn state(name: &str) -> PathBuf {
    cache::directory().join("tests").join(name)
}

/// Removes all of a test network.
fn remove(name: &str) -> Result<()> {
    leftovers::remove(name)?;
    cache::remove(&state(name))
}
