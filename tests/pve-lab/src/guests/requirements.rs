//! Whether this machine can run real guests, and what to do if not.

use std::fmt;
use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use nix::sched::{CloneFlags, unshare};

use super::{cgroup, host};

/// Programs and the Debian packages that have them.
const PROGRAMS: [(&str, &str); 22] = [
    ("apt-get", "apt"),
    ("chroot", "coreutils"),
    ("dnsmasq", "dnsmasq-base"),
    ("dpkg-deb", "dpkg"),
    ("e2fsck", "e2fsprogs"),
    ("gpg", "gpg"),
    ("gpgconf", "gpgconf"),
    ("gpg-agent", "gpg-agent"),
    ("ip", "iproute2"),
    ("losetup", "mount"),
    ("mkfs.ext4", "e2fsprogs"),
    ("mmdebstrap", "mmdebstrap"),
    ("mount", "mount"),
    ("nsenter", "util-linux"),
    ("qemu-img", "qemu-utils"),
    ("resize2fs", "e2fsprogs"),
    ("setpriv", "util-linux"),
    ("ssh", "openssh-client"),
    ("ssh-keygen", "openssh-client"),
    ("systemctl", "systemd"),
    ("systemd-nspawn", "systemd-container"),
    ("unshare", "util-linux"),
];

/// Groups that are tried out at the same time need different names.
static TRIES: AtomicU32 = AtomicU32::new(0);

/// Something that real guests need and this machine has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Missing {
    /// What is missing.
    pub what: String,
    /// What to do about it.
    pub remedy: String,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.what, self.remedy)
    }
}

fn missing(what: impl Into<String>, remedy: impl Into<String>) -> Missing {
    Missing { what: what.into(), remedy: remedy.into() }
}

/// Checks all that real guests need of the machine.
pub fn requirements() -> Result<(), Vec<Missing>> {
    let mut found = Vec::new();
    if !nix::unistd::geteuid().is_root() {
        found.push(missing("root", "real guests need it; run the lab as root"));
    }
    programs(has_program, &mut found);
    filesystems(&fs::read_to_string("/proc/filesystems").unwrap_or_default(), load, &mut found);
    let keyrings = Path::new("/usr/share/keyrings");
    if !["gpg", "pgp"]
        .iter()
        .any(|e| keyrings.join("debian-archive-keyring").with_extension(e).exists())
    {
        found.push(missing(
            "the keys of Debian's archive",
            "apt-get install debian-archive-keyring",
        ));
    }
    if !Path::new("/dev/loop-control").exists() {
        found.push(missing(
            "/dev/loop-control",
            "guests boot from loop devices; use a kernel with CONFIG_BLK_DEV_LOOP, and in a \
             container give it the devices",
        ));
    }
    if !shm_is_tmpfs(&fs::read_to_string("/proc/mounts").unwrap_or_default()) {
        found.push(missing(
            "a tmpfs on /dev/shm",
            "mount one; what guests see of the host must not lie on its disks",
        ));
    }
    if found.is_empty() {
        // These try it, for which one must be root and have the programs.
        control_groups(&mut found);
        networks(&mut found);
    }
    if found.is_empty() { Ok(()) } else { Err(found) }
}

fn programs(has: impl Fn(&str) -> bool, found: &mut Vec<Missing>) {
    for (program, package) in PROGRAMS {
        if !has(program) {
            found.push(missing(
                format!("the program {program}"),
                format!("apt-get install {package}"),
            ));
        }
    }
}

fn has_program(name: &str) -> bool {
    host::PATH.split(':').any(|directory| Path::new(directory).join(name).is_file())
}

fn filesystems(known: &str, load: impl Fn(&str) -> bool, found: &mut Vec<Missing>) {
    for name in ["ext4", "tmpfs", "cgroup2"] {
        let listed = known.lines().any(|line| line.split_whitespace().last() == Some(name));
        // A module shows up only once it is loaded.
        if !listed && !load(name) {
            found.push(missing(
                format!("the file system {name}"),
                format!("use a kernel that has it, or load its module: modprobe {name}"),
            ));
        }
    }
}

fn load(module: &str) -> bool {
    host::run("modprobe", [module]).is_ok()
}

fn shm_is_tmpfs(mounts: &str) -> bool {
    mounts.lines().any(|line| {
        let mut words = line.split(' ').skip(1);
        words.next() == Some("/dev/shm") && words.next() == Some("tmpfs")
    })
}

fn control_groups(found: &mut Vec<Missing>) {
    let number = TRIES.fetch_add(1, Ordering::Relaxed);
    let tried = cgroup::Cgroup::top(&format!("ferrite-try.{}.{number}", std::process::id()))
        .and_then(|group| group.create().and_then(|()| group.remove()));
    if let Err(e) = tried {
        found.push(missing(
            "control groups that can be made and killed",
            format!(
                "use Linux 5.14 or newer with cgroup2 mounted writable; in a container it must be \
                 privileged ({e:#})"
            ),
        ));
    }
}

fn networks(found: &mut Vec<Missing>) {
    let tried = std::thread::spawn(|| {
        unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWNET)?;
        host::run("ip", ["link", "add", "name", "try0", "type", "bridge"])?;
        host::run("ip", ["link", "add", "name", "try1", "type", "veth"])?;
        anyhow::Ok(())
    })
    .join();
    if let Ok(Err(e)) = tried {
        found.push(missing(
            "network namespaces with bridge and veth",
            format!("use a kernel that has them; in a container it must be privileged ({e:#})"),
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(found: &[Missing]) -> Vec<String> {
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn names_the_package_of_a_missing_program() {
        let mut found = Vec::new();
        programs(|name| name != "systemd-nspawn", &mut found);
        assert_eq!(
            texts(&found),
            ["the program systemd-nspawn: apt-get install systemd-container"]
        );
    }

    #[test]
    fn names_a_missing_file_system() {
        let mut found = Vec::new();
        filesystems("nodev\tcgroup2\n\text3\n", |name| name != "ext4", &mut found);
        assert_eq!(
            texts(&found),
            ["the file system ext4: use a kernel that has it, or load its module: modprobe ext4"]
        );
    }

    #[test]
    fn knows_shared_memory_on_a_disk() {
        assert!(shm_is_tmpfs("/dev/vda / ext4 rw 0 0\ntmpfs /dev/shm tmpfs rw 0 0\n"));
        assert!(!shm_is_tmpfs("/dev/vda / ext4 rw 0 0\n"));
    }
}
