//! Boots one guest: its disk, its cards and its seed under systemd-nspawn.
//!
//! The guest's mounts, its loop device and its cards exist in namespaces that only its own
//! processes hold, so they vanish with the last of them, however it ends.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use anyhow::{Context, Result};
use ferrite_image::disk;
use nix::mount::{MsFlags, mount};
use nix::sched::{CloneFlags, unshare};
use serde::{Deserialize, Serialize};

use super::cgroup::{self, Cgroup};
use super::{agent, credentials, host};

/// A network card: a veth whose other end is in the lab's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Card {
    /// The number in `net0`.
    pub(crate) slot: u32,
    /// The MAC address.
    pub(crate) mac: String,
    /// The bridge to plug it into.
    pub(crate) bridge: Option<String>,
    /// The VLAN of the port.
    pub(crate) tag: Option<u16>,
    /// Whether the link is up.
    pub(crate) link_up: bool,
}

/// What a guest is made of. It is kept in a file for reboots and for a lab that starts again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Machine {
    /// The guest's number, which names its tap interfaces.
    pub(crate) vmid: u32,
    /// The namespace that its bridges are in.
    pub(crate) netns: String,
    /// The disk to boot from.
    pub(crate) disk: Option<PathBuf>,
    /// The cards.
    pub(crate) cards: Vec<Card>,
    /// The files of the NoCloud seed, by name.
    pub(crate) seed: Option<Vec<(String, String)>>,
    /// systemd's credentials, by name: what an image without cloud-init is configured by.
    pub(crate) credentials: Vec<(String, String)>,
    /// Whether the agent's port is plugged.
    pub(crate) agent: bool,
}

/// Where a guest keeps what is not its disk.
#[derive(Debug, Clone)]
pub(crate) struct Places {
    /// Console log, mount point and exit status.
    pub(crate) state: PathBuf,
    /// On tmpfs: all that the guest sees of the host. Were it on a disk, the guest's agent could
    /// freeze or trim that disk.
    pub(crate) run: PathBuf,
    /// The group of all its processes.
    pub(crate) group: Cgroup,
}

impl Places {
    /// The agent's socket.
    pub(crate) fn agent_socket(&self) -> PathBuf {
        self.run.join("qga/org.qemu.guest_agent.0")
    }

    /// Where the guest's exit status appears: 133 for a reboot.
    pub(crate) fn exit_file(&self) -> PathBuf {
        self.state.join("exit")
    }

    /// The process that stands for the guest; its death is the guest's.
    pub(crate) fn launcher(&self) -> Option<u32> {
        self.group.pids().first().copied()
    }

    /// The nspawn that looks after the guest; SIGTERM to it is the power button.
    pub(crate) fn nspawn(&self) -> Option<u32> {
        self.group.child("supervisor").pids().first().copied()
    }

    /// The guest's own PID 1.
    pub(crate) fn init(&self) -> Option<u32> {
        let payload = self.group.child("payload");
        payload.child("init.scope").pids().first().or(payload.pids().first()).copied()
    }
}

/// The name of a card's end in the lab's namespace.
pub(crate) fn tap(vmid: u32, slot: u32) -> String {
    format!("tap{vmid}i{slot}")
}

/// Writes the seed's files; a running guest reads them at its next boot.
pub(crate) fn write_seed(run: &Path, seed: &[(String, String)]) -> Result<()> {
    let directory = run.join("seed");
    fs::create_dir_all(&directory)?;
    for (name, text) in seed {
        fs::write(directory.join(name), text)
            .with_context(|| format!("cannot write the seed's {name}"))?;
    }
    Ok(())
}

/// The agent's unit. The packaged one waits for a virtio device; the name stays.
fn agent_unit() -> String {
    format!(
        "[Unit]\nDescription=QEMU Guest Agent\nConditionPathExists=/usr/sbin/qemu-ga\n\
         ConditionPathIsDirectory=/run/qga\n\n[Service]\n\
         ExecStart=-/usr/sbin/qemu-ga -m unix-listen -p /run/qga/org.qemu.guest_agent.0 -b {}\n\
         Restart=always\nRestartSec=0\n",
        agent::BLOCKED
    )
}

/// Starts the guest and returns its launcher.
pub(crate) fn boot(machine: &Machine, places: &Places) -> Result<Child> {
    fs::create_dir_all(places.state.join("mnt"))?;
    match fs::remove_file(places.exit_file()) {
        Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(e.into()),
        _ => {}
    }
    if places.run.exists() {
        fs::remove_dir_all(&places.run)?;
    }
    fs::create_dir_all(places.run.join("qga"))?;
    fs::create_dir_all(places.run.join("wants"))?;
    fs::copy("/usr/lib/os-release", places.run.join("os-release"))
        .context("cannot copy os-release")?;
    fs::write(places.run.join("qga.service"), agent_unit())?;
    symlink("../qemu-guest-agent.service", places.run.join("wants/qemu-guest-agent.service"))?;
    if let Some(seed) = &machine.seed {
        write_seed(&places.run, seed)?;
    }
    if let Some(disk) = &machine.disk {
        // A guest cannot grow its own root here (the kernel wants CAP_SYS_RESOURCE for that), so
        // the lab does what growpart and resizefs of cloud-init do on a real VM.
        disk::grow(disk).with_context(|| format!("cannot grow {}", disk.display()))?;
    }
    places.group.create()?;
    unplug(machine);
    // Namespaces are those of a thread; the guest inherits this one's and the thread ends.
    let started = std::thread::scope(|scope| {
        scope
            .spawn(|| in_namespaces(machine, places))
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("the launching thread broke")))
    });
    let started = started.and_then(|child| entered(child, places));
    if started.is_err() {
        // The error that matters is the first.
        let _ = places.group.remove();
        unplug(machine);
    }
    started
}

/// Waits until the launcher is in its group: before, whoever kills the group would miss it.
fn entered(mut child: Child, places: &Places) -> Result<Child> {
    while !places.group.populated() {
        if let Some(status) = child.try_wait()? {
            anyhow::bail!("the launcher ended with {status}");
        }
        std::thread::sleep(std::time::Duration::from_millis(1));
    }
    Ok(child)
}

fn in_namespaces(machine: &Machine, places: &Places) -> Result<Child> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)
        .context("cannot make namespaces for the guest")?;
    let none = None::<&str>;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
        .context("cannot make the mounts private")?;
    fs::create_dir_all("/run/systemd/nspawn")?;
    mount(Some("lab"), "/run/systemd/nspawn", Some("tmpfs"), MsFlags::empty(), none)
        .context("cannot mount a tmpfs for nspawn")?;
    // nspawn shows the guest the host's os-release.
    mount(
        Some(&places.run.join("os-release")),
        "/usr/lib/os-release",
        none,
        MsFlags::MS_BIND,
        none,
    )
    .context("cannot replace os-release")?;
    let hierarchy = cgroup::root()?;
    let pure = Path::new("/sys/fs/cgroup");
    if hierarchy != pure {
        // The guest's systemd wants version 2 alone.
        mount(Some("cgroup2"), pure, Some("cgroup2"), MsFlags::empty(), none)
            .context("cannot mount cgroup2")?;
    }
    for card in &machine.cards {
        plug(machine, card).with_context(|| format!("cannot plug net{}", card.slot))?;
    }
    host::run("ip", ["link", "set", "lo", "up"])?;
    let group = places.group.seen_at(&hierarchy, pure);
    let mut console =
        fs::OpenOptions::new().create(true).append(true).open(places.state.join("console.log"))?;
    let exit_file = places.exit_file();
    let bootable = match &machine.disk {
        Some(disk) => disk::root(disk)?.filter(|root| root.ext4.is_some()),
        None => None,
    };
    let mut command = match (&machine.disk, bootable) {
        (Some(disk), Some(found)) => {
            let root = places.state.join("mnt");
            let mut mount = host::command("mount");
            mount.args(["-t", "ext4", "-o"]).arg(found.mount_options()).arg(disk).arg(&root);
            host::finish(&mut mount)?;
            let mut command = group.command("systemd-nspawn", Some(&exit_file));
            let credentials = write_credentials(machine, places, &root)?;
            nspawn_arguments(machine, places, &root, &credentials, &mut command);
            command
        }
        // A VM without anything to boot from runs all the same.
        _ => {
            writeln!(console, "no ext4 file system to boot from on the disk")?;
            let mut command = group.command("sleep", Some(&exit_file));
            command.arg("infinity");
            command
        }
    };
    command
        .stdout(console.try_clone()?)
        .stderr(console)
        .stdin(Stdio::null())
        // Ctrl-C in the terminal of a lab in the foreground is for the lab alone.
        .process_group(0)
        .current_dir("/");
    command.spawn().context("cannot start the guest")
}

/// Writes the credentials of a guest whose image has no cloud-init, and returns their names.
fn write_credentials(machine: &Machine, places: &Places, root: &Path) -> Result<Vec<String>> {
    let mut credentials = machine.credentials.clone();
    if let Some(seed) = machine.seed.as_ref().filter(|_| !has_cloud_init(root)) {
        credentials.extend(credentials::of_seed(seed)?);
    }
    if credentials::are_too_new_for(root) {
        credentials::write_into(root, &credentials)?;
        return Ok(Vec::new());
    }
    let directory = places.run.join("credentials");
    fs::create_dir_all(&directory)?;
    for (name, text) in &credentials {
        fs::write(directory.join(name), text)?;
    }
    Ok(credentials.into_iter().map(|(name, _)| name).collect())
}

fn has_cloud_init(root: &Path) -> bool {
    root.join("usr/bin/cloud-init").exists()
}

/// What `ip` is told, inside the guest's namespace, to make a card there.
fn card_arguments(card: &Card, outer: &str, ns: &str) -> Vec<String> {
    let number = 18 + card.slot;
    // A number of its own, so that a bridge made in the guest comes before it, as on real VMs.
    let text = format!(
        "link add ens{number} index {number} address {} type veth peer name {outer} netns {ns}",
        card.mac
    );
    text.split(' ').map(str::to_owned).collect()
}

/// Removes a guest's cards: the namespace of one that was killed is taken apart in the background.
pub(crate) fn unplug(machine: &Machine) {
    for card in &machine.cards {
        let outer = tap(machine.vmid, card.slot);
        // Mostly it is gone already.
        let _ = host::run("ip", ["-n", &machine.netns, "link", "del", &outer]);
    }
}

fn plug(machine: &Machine, card: &Card) -> Result<()> {
    let outer = tap(machine.vmid, card.slot);
    let ns = machine.netns.as_str();
    host::run("ip", card_arguments(card, &outer, ns))?;
    connect(ns, &outer, card)
}

/// Puts the lab's end of a card into its bridge, up or down.
pub(crate) fn connect(ns: &str, outer: &str, card: &Card) -> Result<()> {
    let master = match &card.bridge {
        Some(bridge) => vec!["master".to_owned(), port_of(ns, bridge, card.tag)?],
        None => vec!["nomaster".to_owned()],
    };
    let mut set = host::command("ip");
    set.args(["-n", ns, "link", "set", outer]).args(master);
    host::finish(&mut set)?;
    let state = if card.link_up { "up" } else { "down" };
    host::run("ip", ["-n", ns, "link", "set", outer, state])?;
    Ok(())
}

/// The bridge that a port with this VLAN belongs to. Each VLAN is a bridge of its own, as PVE makes
/// them below bridges that do not know VLANs; nothing but guests is on it.
fn port_of(ns: &str, bridge: &str, tag: Option<u16>) -> Result<String> {
    let exists = |name: &str| host::run("ip", ["-n", ns, "link", "show", "dev", name]).is_ok();
    if !exists(bridge) {
        anyhow::bail!("bridge '{bridge}' does not exist");
    }
    let Some(tag) = tag else {
        return Ok(bridge.to_owned());
    };
    let name = format!("{bridge}v{tag}");
    if !exists(&name) {
        host::run("ip", ["-n", ns, "link", "add", &name, "type", "bridge"])?;
        host::run("ip", ["-n", ns, "link", "set", &name, "up"])?;
    }
    Ok(name)
}

/// Plugs and unplugs cards of a running guest, whose PID 1 is `init`.
pub(crate) fn rewire(machine: &Machine, cards: &[Card], init: Option<u32>) -> Result<()> {
    let ns = machine.netns.as_str();
    let same = |a: &Card, b: &Card| a.slot == b.slot && a.mac == b.mac;
    for old in &machine.cards {
        if !cards.iter().any(|new| same(old, new)) {
            host::run("ip", ["-n", ns, "link", "del", &tap(machine.vmid, old.slot)])?;
        }
    }
    for new in cards {
        let outer = tap(machine.vmid, new.slot);
        if !machine.cards.iter().any(|old| same(old, new)) {
            let init = init.context("the guest has no namespace to plug a card into")?;
            let init = init.to_string();
            let mut inside = host::command("nsenter");
            inside.args(["-t", &init, "-n", "ip"]).args(card_arguments(new, &outer, ns));
            host::finish(&mut inside)?;
        }
        connect(ns, &outer, new)?;
    }
    Ok(())
}

fn nspawn_arguments(
    machine: &Machine,
    places: &Places,
    root: &Path,
    credentials: &[String],
    command: &mut std::process::Command,
) {
    let bind = |read_only: bool, source: &str, target: &str| {
        let option = if read_only { "--bind-ro" } else { "--bind" };
        format!("{option}={}:{target}", places.run.join(source).display())
    };
    command
        .env("SYSTEMD_NSPAWN_API_VFS_WRITABLE", "network")
        .args(["--quiet", "--boot", "--register=no", "--keep-unit"])
        // A namespace given by its path brings no right to configure it.
        .args(["--network-namespace-path=/proc/self/ns/net", "--capability=CAP_NET_ADMIN"])
        .args(["--resolv-conf=off", "--timezone=off", "--link-journal=no"])
        .arg("--console=read-only")
        .arg(format!("--machine={}", machine.vmid))
        .arg("--directory")
        .arg(root);
    if machine.seed.is_some() && has_cloud_init(root) {
        command.arg(bind(true, "seed", "/var/lib/cloud/seed/nocloud"));
    }
    for name in credentials {
        let file = places.run.join("credentials").join(name);
        command.arg(format!("--load-credential={name}:{}", file.display()));
    }
    if machine.agent {
        command
            .arg(bind(false, "qga", "/run/qga"))
            .arg(bind(true, "qga.service", "/run/systemd/system/qemu-guest-agent.service"))
            .arg(bind(true, "wants", "/run/systemd/system/multi-user.target.wants"));
    }
}
