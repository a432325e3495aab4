//! The driver of labs whose guests are real.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};

use super::launch::{self, Card, Machine};
use super::machines::{self, Machines};
use super::{agent, host, leftovers, requirements};
use crate::driver::{
    AgentError, DriverError, EventSink, GuestDefinition, GuestDriver, GuestStatus, Nic, Seed,
    VolumeFormat, VolumeInfo,
};
use crate::image::{Image, Suite, cache};
use crate::network::{self, Network, Pool};
use crate::repository;

/// Guests as real Debian systems. One value per lab directory.
pub struct RealGuests {
    directory: PathBuf,
    name: String,
    pool: Pool,
    machines: Machines,
    standing: Mutex<Option<(Network, repository::Server)>>,
}

impl From<anyhow::Error> for DriverError {
    fn from(e: anyhow::Error) -> Self {
        Self::new(format!("{e:#}"))
    }
}

impl RealGuests {
    /// The guests of the lab in a directory, or what this machine lacks to have any.
    ///
    /// Its bridges get the first free subnets from 10.77.0.0/24 on, or from where
    /// `FERRITE_LAB_POOL=tests` says: labs of tests leave these to labs that people drive, whose
    /// specs may name addresses.
    pub fn open(directory: &Path) -> Result<Self, Vec<String>> {
        let pool = match std::env::var("FERRITE_LAB_POOL").as_deref() {
            Ok("tests") => Pool::tests(),
            _ => Pool::Labs,
        };
        Self::open_in(directory, pool)
    }

    /// As [`RealGuests::open`], with subnets from this pool.
    pub fn open_in(directory: &Path, pool: Pool) -> Result<Self, Vec<String>> {
        requirements()
            .map_err(|missing| missing.iter().map(ToString::to_string).collect::<Vec<_>>())?;
        Self::at(directory, pool).map_err(|e| vec![format!("{e:#}")])
    }

    fn at(directory: &Path, pool: Pool) -> anyhow::Result<Self> {
        fs::create_dir_all(directory)?;
        let directory = directory.canonicalize()?;
        // Labs are told apart by their directories, and so are their traces in the host.
        let name = format!("fl{}", leftovers::View::own()?.key(&directory));
        let home = leftovers::home(&name, directory.join("guests"))?;
        Ok(Self {
            directory,
            name,
            pool,
            machines: Machines::new(home),
            standing: Mutex::default(),
        })
    }

    /// Puts the lab's usual image into a storage's `import` directory, building it if need be.
    pub fn provide_images(&self, import: &Path) -> Result<(), DriverError> {
        self.provide_image(import, Image::cloud(Suite::Trixie))
    }

    /// Puts an image into a storage's `import` directory, alike.
    pub fn provide_image(&self, import: &Path, image: Image) -> Result<(), DriverError> {
        let cached = image.ensure()?;
        let target = import.join(image.file_name());
        fs::create_dir_all(import)?;
        cache::remove(&target)?;
        // A link where the file systems allow it: the lab only ever reads images.
        if fs::hard_link(&cached, &target).is_err() {
            fs::copy(&cached, &target)?;
        }
        Ok(())
    }

    /// The lab's bridges and their subnets, once it is up.
    pub fn bridges(&self) -> Vec<network::Bridge> {
        self.standing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .as_ref()
            .map(|(network, _)| network.plan().bridges.clone())
            .unwrap_or_default()
    }

    /// The name that this lab's namespace, interfaces and control groups go by.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn machine(&self, guest: &GuestDefinition) -> Result<Machine, DriverError> {
        let disk = guest.disks.iter().find(|d| d.boot).or(guest.disks.first());
        if let Some(disk) = disk.filter(|d| d.format != VolumeFormat::Raw) {
            return Err(DriverError::new(format!(
                "the lab boots raw disks only, and {} is {}",
                disk.slot,
                disk.format.as_str()
            )));
        }
        Ok(Machine {
            vmid: guest.vmid,
            netns: self.name.clone(),
            disk: disk.map(|d| d.path.clone()),
            cards: guest.nics.iter().map(card).collect(),
            credentials: Vec::new(),
            seed: guest.seed.as_ref().map(seed_files),
            agent: guest.agent,
        })
    }
}

fn card(nic: &Nic) -> Card {
    Card {
        slot: nic.slot,
        mac: nic.mac.to_lowercase(),
        bridge: nic.bridge.clone(),
        tag: nic.tag,
        link_up: nic.link_up,
    }
}

fn seed_files(seed: &Seed) -> Vec<(String, String)> {
    [
        ("user-data", &seed.user_data),
        ("network-config", &seed.network_config),
        ("meta-data", &seed.meta_data),
        ("vendor-data", &seed.vendor_data),
    ]
    .map(|(name, text)| (name.to_owned(), text.clone()))
    .to_vec()
}

/// Reads what `qemu-img info` says.
fn info(path: &Path) -> anyhow::Result<(String, VolumeInfo)> {
    let text = host::finish(
        host::command("qemu-img")
            // A guest may have it open for writing.
            .args(["info", "--force-share", "--output=json"])
            .arg(path),
    )?;
    let value: Value = serde_json::from_str(&text)?;
    let format = value["format"].as_str().unwrap_or_default().to_owned();
    let info = VolumeInfo {
        format: match format.as_str() {
            "qcow2" => VolumeFormat::Qcow2,
            "vmdk" => VolumeFormat::Vmdk,
            _ => VolumeFormat::Raw,
        },
        virtual_size: value["virtual-size"].as_u64().unwrap_or_default(),
        used: value["actual-size"].as_u64().unwrap_or_default(),
    };
    Ok((format, info))
}

fn make_parent(path: &Path) -> Result<(), DriverError> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

impl GuestDriver for RealGuests {
    fn up(&self, bridges: &[String], events: EventSink) -> Result<(), DriverError> {
        self.machines.send_events_to(events);
        leftovers::sweep()?;
        leftovers::own(&self.name, &self.directory)?;
        let group = &self.machines.home().group;
        let network = Network::up(&self.name, bridges, self.pool, group, &self.directory)?;
        let started = repository::Server::start(&self.name);
        let server = match started.and_then(|server| self.machines.adopt().map(|()| server)) {
            Ok(server) => server,
            Err(e) => {
                // The first error is the one to report.
                let _ = self.down();
                return Err(e.into());
            }
        };
        *self.standing.lock().unwrap_or_else(PoisonError::into_inner) = Some((network, server));
        Ok(())
    }

    fn down(&self) -> Result<(), DriverError> {
        self.machines.kill_all()?;
        let home = self.machines.home();
        let standing = self.standing.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some((mut network, server)) = standing {
            drop(server);
            network.down()?;
        }
        leftovers::remove(&self.name)?;
        for path in [
            home.state.clone(),
            self.directory.join("network.json"),
            self.directory.join("dnsmasq.leases"),
            self.directory.join("dnsmasq.log"),
        ] {
            cache::remove(&path)?;
        }
        Ok(())
    }

    fn running(&self) -> Vec<(u32, GuestStatus)> {
        self.machines.all().into_iter().map(|(vmid, running)| (vmid, status_of(running))).collect()
    }

    fn create_volume(
        &self,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError> {
        make_parent(path)?;
        host::finish(
            host::command("qemu-img")
                .args(["create", "-q", "-f", format.as_str()])
                .arg(path)
                .arg(size.to_string()),
        )?;
        Ok(())
    }

    fn import_volume(
        &self,
        source: &Path,
        target: &Path,
        format: VolumeFormat,
    ) -> Result<(), DriverError> {
        make_parent(target)?;
        // The name may promise another format than the content has; PVE goes by the content.
        let (found, _) = info(source)?;
        host::finish(
            host::command("qemu-img")
                .args(["convert", "-f", &found, "-O", format.as_str()])
                .arg(source)
                .arg(target),
        )?;
        Ok(())
    }

    fn volume_info(&self, path: &Path) -> Result<VolumeInfo, DriverError> {
        Ok(info(path)?.1)
    }

    fn resize_volume(
        &self,
        vmid: Option<u32>,
        path: &Path,
        format: VolumeFormat,
        size: u64,
    ) -> Result<(), DriverError> {
        if format != VolumeFormat::Raw {
            host::finish(
                host::command("qemu-img")
                    .args(["resize", "-q", "-f", format.as_str()])
                    .arg(path)
                    .arg(size.to_string()),
            )?;
            return Ok(());
        }
        let file = fs::OpenOptions::new().write(true).open(path)?;
        file.set_len(size)?;
        if vmid.is_some_and(|vmid| self.machines.get(vmid).is_some()) {
            // The running guest sees a longer disk at once; its file system grows at the next boot.
            let devices = host::finish(
                host::command("losetup")
                    .args(["--noheadings", "--output", "NAME", "--associated"])
                    .arg(path),
            )?;
            for device in devices.split_whitespace() {
                host::run("losetup", ["--set-capacity", device])?;
            }
        }
        Ok(())
    }

    fn remove_volume(&self, path: &Path) -> Result<(), DriverError> {
        Ok(cache::remove(path)?)
    }

    fn start(&self, guest: &GuestDefinition) -> Result<u32, DriverError> {
        Ok(self.machines.start(&self.machine(guest)?)?)
    }

    fn shutdown(&self, vmid: u32, timeout: Duration) -> Result<bool, DriverError> {
        let ended = self.machines.end(vmid, timeout, |places| {
            let asked = agent::call(
                &places.agent_socket(),
                "guest-shutdown",
                &json!({}),
                Duration::from_secs(2).min(timeout),
            );
            match asked {
                Ok(_) => Ok(()),
                // Without an agent PVE presses the power button.
                Err(_) => machines::power_button(places),
            }
        })?;
        Ok(ended)
    }

    fn stop(&self, vmid: u32) -> Result<(), DriverError> {
        Ok(self.machines.kill(vmid)?)
    }

    fn suspend(&self, vmid: u32) -> Result<(), DriverError> {
        Ok(self.machines.freeze(vmid, true)?)
    }

    fn resume(&self, vmid: u32) -> Result<(), DriverError> {
        Ok(self.machines.freeze(vmid, false)?)
    }

    fn status(&self, vmid: u32) -> GuestStatus {
        self.machines.get(vmid).map_or(GuestStatus::Stopped, status_of)
    }

    fn reseed(&self, vmid: u32, seed: &Seed) -> Result<(), DriverError> {
        let files = seed_files(seed);
        let mut machine = self.machines.machine(vmid)?;
        launch::write_seed(&self.machines.home().of(vmid).run, &files)?;
        machine.seed = Some(files);
        Ok(self.machines.remember(&machine)?)
    }

    fn rewire(&self, vmid: u32, nics: &[Nic]) -> Result<(), DriverError> {
        let mut machine = self.machines.machine(vmid)?;
        let cards: Vec<Card> = nics.iter().map(card).collect();
        let init = self.machines.home().of(vmid).init();
        launch::rewire(&machine, &cards, init)?;
        machine.cards = cards;
        Ok(self.machines.remember(&machine)?)
    }

    /// nspawn boots from raw disks.
    fn stores(&self, _format: VolumeFormat) -> VolumeFormat {
        VolumeFormat::Raw
    }

    fn dns(&self) -> (Vec<String>, Vec<String>) {
        let servers = self.bridges().first().map(network::Bridge::gateway);
        (servers.into_iter().collect(), vec![network::DOMAIN.to_owned()])
    }

    fn agent(
        &self,
        vmid: u32,
        command: &str,
        arguments: &Value,
        timeout: Duration,
    ) -> Result<Value, AgentError> {
        let places = self.machines.home().of(vmid);
        let socket = places.agent_socket();
        // These would reach the host's disk. The lab answers them itself, if an agent is there.
        let own = match command {
            "guest-fsfreeze-freeze" | "guest-fsfreeze-thaw" => json!(1),
            "guest-fsfreeze-status" => json!("thawed"),
            "guest-fstrim" => json!({"paths": []}),
            _ => return agent::call(&socket, command, arguments, timeout),
        };
        agent::call(&socket, "guest-ping", &json!({}), timeout)?;
        Ok(own)
    }
}

fn status_of(running: machines::Running) -> GuestStatus {
    if running.paused {
        GuestStatus::Paused { pid: running.pid }
    } else {
        GuestStatus::Running { pid: running.pid }
    }
}
