//! A lab with the real driver and without the API, in a place of its own.

#![expect(clippy::expect_used, reason = "called by tests only")]

use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pve_lab::driver::{
    Disk, EventSink, GuestDefinition, GuestDriver, GuestEvent, Nic, Seed, VolumeFormat,
};
use pve_lab::guests::RealGuests;
use pve_lab::network::Pool;
use serde_json::{Value, json};

/// How long anything here may take.
const LIMIT: Duration = Duration::from_secs(60);

pub(crate) struct Lab {
    directory: tempfile::TempDir,
    name: String,
    driver: Option<RealGuests>,
    events: Arc<Mutex<Vec<GuestEvent>>>,
}

/// Waits for something to become true.
pub(crate) fn eventually(what: &str, condition: impl Fn() -> bool) {
    let deadline = Instant::now() + LIMIT;
    while !condition() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A card on a bridge.
pub(crate) fn nic(slot: u32, mac: &str, bridge: &str) -> Nic {
    Nic {
        slot,
        model: "virtio".to_owned(),
        mac: mac.to_owned(),
        bridge: Some(bridge.to_owned()),
        tag: None,
        link_up: true,
    }
}

/// Runs a shell command through the guest's agent and looks for a text in what it prints.
pub(crate) fn write_exec(driver: &RealGuests, vmid: u32, command: &str, expected: &str) {
    let call = |name: &str, arguments: &Value| {
        driver
            .agent(vmid, name, arguments, Duration::from_secs(5))
            .unwrap_or_else(|e| panic!("{name}: {e:?}"))
    };
    let started = call(
        "guest-exec",
        &json!({"path": "/bin/sh", "arg": ["-c", command], "capture-output": true}),
    );
    let mut status = Value::Null;
    let deadline = Instant::now() + LIMIT;
    while status["exited"] != json!(true) {
        assert!(Instant::now() < deadline, "{command} does not end");
        status = call("guest-exec-status", &json!({"pid": started["pid"]}));
    }
    use base64::Engine as _;
    let printed = base64::engine::general_purpose::STANDARD
        .decode(status["out-data"].as_str().unwrap_or_default())
        .expect("base64");
    let printed = String::from_utf8(printed).expect("text");
    assert!(printed.contains(expected), "{command}: {status} {printed}");
}

impl Lab {
    /// A lab that is up, with two bridges.
    pub(crate) fn up() -> Self {
        let mut lab = Self {
            directory: tempfile::tempdir().expect("a directory"),
            name: String::new(),
            driver: None,
            events: Arc::default(),
        };
        lab.restart();
        lab
    }

    fn open(&self) -> RealGuests {
        RealGuests::open_in(self.directory.path(), Pool::tests())
            .unwrap_or_else(|missing| panic!("this machine lacks: {missing:#?}"))
    }

    /// Ends the lab as SIGKILL would, nothing cleaned up, and starts it again.
    pub(crate) fn restart(&mut self) {
        self.die();
        let driver = self.open();
        let events = Arc::clone(&self.events);
        let sink: EventSink = Arc::new(move |event| events.lock().expect("a lock").push(event));
        driver.up(&["vmbr0".to_owned(), "vmbr1".to_owned()], sink).expect("the lab comes up");
        self.name = driver.name().to_owned();
        self.driver = Some(driver);
    }

    /// Ends the lab as SIGKILL would.
    pub(crate) fn die(&mut self) {
        self.driver = None;
    }

    /// What `pve-lab down` does after the lab's death.
    pub(crate) fn clean(&self) {
        self.open().down().expect("the lab can be cleaned up");
    }

    /// Removes the lab's directory under it. What still runs there may write meanwhile, which is
    /// why it may take more than one go.
    pub(crate) fn lose_directory(&self) {
        eventually("the directory is removed", || {
            let _ = std::fs::remove_dir_all(self.directory.path());
            !self.directory.path().exists()
        });
    }

    /// The bridge that an interface of the lab's is in.
    pub(crate) fn bridge_of(&self, interface: &str) -> String {
        let shown = said("ip", &["-j", "-n", self.driver().name(), "link", "show", interface]);
        let rows: Value = serde_json::from_str(&shown).expect("JSON");
        rows[0]["master"].as_str().unwrap_or_default().to_owned()
    }

    /// The lab's driver.
    pub(crate) fn driver(&self) -> &RealGuests {
        self.driver.as_ref().expect("the lab is up")
    }

    /// What happened by itself so far.
    pub(crate) fn events(&self) -> Vec<GuestEvent> {
        self.events.lock().expect("a lock").clone()
    }

    /// A guest on vmbr0 with DHCP and a disk of 4 GiB from the image.
    pub(crate) fn guest(&self, vmid: u32, mac: &str) -> GuestDefinition {
        let import = self.directory.path().join("import");
        self.driver().provide_images(&import).expect("an image");
        let image = import.join("debian-13-genericcloud-amd64-lab.qcow2");
        let disk = self.directory.path().join(format!("vm-{vmid}-disk-0.raw"));
        let driver = self.driver();
        driver.import_volume(&image, &disk, VolumeFormat::Raw).expect("the image can be imported");
        driver
            .resize_volume(Some(vmid), &disk, VolumeFormat::Raw, 4 << 30)
            .expect("the disk can grow");
        let info = driver.volume_info(&disk).expect("the disk has a header");
        assert_eq!(info.virtual_size, 4 << 30);
        GuestDefinition {
            vmid,
            name: format!("vm{vmid}"),
            node: "pve1".to_owned(),
            memory: 512,
            cpus: 1,
            nics: vec![nic(0, mac, "vmbr0")],
            disks: vec![Disk {
                slot: "scsi0".to_owned(),
                path: disk,
                format: VolumeFormat::Raw,
                boot: true,
            }],
            seed: Some(seed(vmid, mac)),
            agent: true,
            uuid: "6f5902ac-237b-4f3d-9d1c-1e7a3b9c0d11".to_owned(),
        }
    }

    fn interfaces(&self, vmid: u32) -> Vec<Value> {
        self.driver()
            .agent(vmid, "guest-network-get-interfaces", &json!({}), Duration::from_secs(3))
            .ok()
            .and_then(|answer| answer.as_array().cloned())
            .unwrap_or_default()
    }

    /// The agent's interfaces, once `eth0` has an address of the lab's.
    pub(crate) fn interfaces_with_address(&self, vmid: u32) -> Vec<Value> {
        let prefix = format!("{}.", self.driver().bridges()[0].subnet);
        eventually("the guest has an address", || {
            self.interfaces(vmid).iter().any(|interface| {
                interface["name"] == "eth0" && interface.to_string().contains(&prefix)
            })
        });
        self.interfaces(vmid)
    }

    /// The names that the agent lists, in its order.
    pub(crate) fn interface_names(&self, vmid: u32) -> Vec<String> {
        self.interfaces(vmid).iter().filter_map(|i| i["name"].as_str().map(str::to_owned)).collect()
    }

    /// Asserts that nothing of this lab's guests is in the host.
    pub(crate) fn assert_no_guest_left(&self) {
        self.assert_gone(|trace| !trace.starts_with("lab "));
    }

    /// Asserts that nothing of this lab is in the host.
    pub(crate) fn assert_nothing_left(&self) {
        self.assert_gone(|_| true);
    }

    /// The kernel frees a loop device or a namespace a moment after its last user has gone.
    fn assert_gone(&self, of: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(3);
        loop {
            let left: Vec<_> = self.traces().into_iter().filter(|t| of(t)).collect();
            if left.is_empty() {
                return;
            }
            assert!(Instant::now() < deadline, "left behind: {left:#?}");
        }
    }

    /// What is in the host because of this lab.
    pub(crate) fn traces(&self) -> Vec<String> {
        let name = self.name.clone();
        let directory = self.directory.path().to_string_lossy().into_owned();
        let group = format!("ferrite.{name}");
        let mut traces = Vec::new();
        let mut look = |kind: &str, text: &str, needle: &str| {
            for line in text.lines().filter(|line| line.contains(needle)) {
                traces.push(format!("{kind}: {line}"));
            }
        };
        look("loop", &said("losetup", &["--list"]), &directory);
        look("tap", &said("ip", &["-n", &name, "link"]), "tap");
        look("lab netns", &said("ip", &["netns"]), &name);
        look("lab link", &said("ip", &["link"]), &name);
        look("process", &said("ps", &["-eo", "args"]), &format!("{group}/guest-"));
        look("lab process", &said("ps", &["-eo", "args"]), &format!("{group}/infra"));
        look("lab process", &said("ps", &["-eo", "args"]), &directory);
        look("tmpfs", &said("find", &["/dev/shm", "-mindepth", "2", "-type", "d"]), &group);
        look("lab tmpfs", &said("ls", &["/dev/shm"]), &group);
        let groups = said("find", &["/sys/fs/cgroup", "-type", "d", "-name", "guest-*"]);
        look("group", &groups, &group);
        let groups = said("find", &["/sys/fs/cgroup", "-type", "d", "-name", "ferrite.*"]);
        look("lab group", &groups, &group);
        for path in ["guests", "network.json", "dnsmasq.leases"] {
            if Path::new(&directory).join(path).exists() {
                traces.push(format!("lab file: {path}"));
            }
        }
        traces
    }
}

impl Drop for Lab {
    fn drop(&mut self) {
        let cleaned = match self.driver.take() {
            Some(driver) => driver.down(),
            None => self.open().down(),
        };
        if let Err(e) = cleaned {
            eprintln!("cannot clean up after a test: {e}");
        }
    }
}

/// The child of a process that has this name.
pub(crate) fn child_of(pid: u32, name: &str) -> u32 {
    let children = said("ps", &["--no-headers", "-o", "pid,args", "--ppid", &pid.to_string()]);
    let line = children.lines().find(|line| line.contains(name));
    let line = line.unwrap_or_else(|| panic!("{pid} has no child {name}: {children}"));
    line.split_whitespace().next().and_then(|n| n.parse().ok()).expect("a process id")
}

fn said(program: &str, arguments: &[&str]) -> String {
    let output =
        Command::new(program).args(arguments).output().unwrap_or_else(|e| panic!("{program}: {e}"));
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn seed(vmid: u32, mac: &str) -> Seed {
    let user_data = format!(
        "#cloud-config\nhostname: vm{vmid}\nmanage_etc_hosts: true\n\
         chpasswd:\n  expire: False\nusers:\n  - default\n"
    );
    let network_config = format!(
        "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      \
         mac_address: '{}'\n      subnets:\n      - type: dhcp4\n",
        mac.to_lowercase()
    );
    Seed {
        user_data,
        network_config,
        meta_data: format!("instance-id: test-{vmid}\n"),
        vendor_data: String::new(),
    }
}
