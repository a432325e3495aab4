//! From Debian's packages to a qcow2, in about half a minute.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use anyhow::{Context, Result};

use super::cache;
use super::mirror;
use super::tree;
use super::trust::Trust;
use super::{Image, Suite};
use crate::guests::host;

/// In every image. There is no netplan: it matches cards by their permanent MAC, which the lab's
/// cards, being veths, do not have, and cloud-init writes networkd's own files without it.
const PACKAGES: &str = "systemd,systemd-sysv,systemd-resolved,dbus,udev,openssh-server,iproute2,\
    ca-certificates,sudo,qemu-guest-agent,e2fsprogs,libpam-systemd,dbus-user-session,tzdata";

/// In images with cloud-init.
const CLOUD_PACKAGES: &str = "cloud-init,cloud-guest-utils,python3-minimal";

/// For images without cloud-init: on a first boot systemd enables all units but these, and a
/// socket in front of sshd is not what Debian's images have.
const PRESET: &str = "disable ssh.socket\n";

/// The size of the disk in an image, as upstream's.
const SIZE: &str = "3G";

/// What an image is made of, for its name in the cache: raise the number with any change of what
/// is done to the tree below.
pub(super) fn recipe(image: Image) -> String {
    let preset = if image.cloud_init { "" } else { PRESET };
    format!("1 {image:?} {PACKAGES} {CLOUD_PACKAGES} {SIZE} {preset}")
}

/// Builds an image.
pub(super) fn image(image: Image, trust: &Trust, target: &Path) -> Result<()> {
    let tree = target.with_extension("tree");
    let disk = target.with_extension("raw");
    let built = (|| {
        tree::clear(&tree)?;
        cache::remove(&disk)?;
        packages(image, &tree)?;
        generalise(image, &tree).context("cannot prepare the image's files")?;
        add_trust(image.suite, trust, &tree).context("cannot add the lab's authorities")?;
        pack(&tree, &disk, target)
    })();
    let cleaned = tree::clear(&tree).and(cache::remove(&disk));
    built.and(cleaned).with_context(|| format!("cannot build the image {}", image.file_name()))
}

fn packages(image: Image, tree: &Path) -> Result<()> {
    let mut include = PACKAGES.to_owned();
    if image.cloud_init {
        include = format!("{include},{CLOUD_PACKAGES}");
    }
    let mut command = host::bound("mmdebstrap");
    command
        .args(["--quiet", "--variant=minbase"])
        .arg(format!("--include={include}"))
        .arg(r#"--aptopt=Acquire::Languages "none""#)
        .arg("--dpkgopt=path-exclude=/usr/share/man/*")
        .arg("--dpkgopt=path-exclude=/usr/share/locale/*")
        .arg("--dpkgopt=path-exclude=/usr/share/doc/*")
        .arg("--dpkgopt=path-include=/usr/share/doc/*/copyright")
        .arg(image.suite.as_str())
        .arg(tree)
        .args(mirror::of_host());
    for name in ["http_proxy", "https_proxy", "no_proxy"] {
        // A mirror may be reachable in no other way.
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    host::finish(&mut command)?;
    Ok(())
}

/// Makes the tree the root of any guest instead of one machine's.
fn generalise(image: Image, tree: &Path) -> Result<()> {
    let etc = tree.join("etc");
    for entry in fs::read_dir(etc.join("ssh"))?.flatten() {
        if entry.file_name().to_string_lossy().starts_with("ssh_host_") {
            fs::remove_file(entry.path())?;
        }
    }
    cache::remove(&etc.join("hostname"))?;
    cache::remove(&tree.join("var/lib/dbus/machine-id"))?;
    // Without cloud-init the host keys are made by a unit that wants to see a first boot.
    // bookworm has no such unit, and gets them with its other files.
    let first_boot = !image.cloud_init && image.suite == Suite::Trixie;
    let machine_id = if first_boot { "uninitialized\n" } else { "" };
    fs::write(etc.join("machine-id"), machine_id)?;
    if !image.cloud_init {
        let presets = etc.join("systemd/system-preset");
        fs::create_dir_all(&presets)?;
        fs::write(presets.join("10-lab.preset"), PRESET)?;
    }
    // The root is mounted before systemd starts: remounting what fstab says would fail the boot.
    fs::write(etc.join("fstab"), "")?;
    fs::write(etc.join("apt/sources.list.d/debian.sources"), sources(image.suite))?;
    cache::remove(&etc.join("apt/sources.list"))?;
    // mmdebstrap leaves its own options behind as apt's and dpkg's configuration.
    cache::remove(&etc.join("apt/apt.conf.d/99mmdebstrap"))?;
    if image.cloud_init {
        // bookworm's cloud-init fails over a locale that is not generated.
        fs::write(
            etc.join("cloud/cloud.cfg.d/01_debian_cloud.cfg"),
            "apt:\n  preserve_sources_list: true\nlocale: C.UTF-8\n",
        )?;
    }
    cache::remove(&etc.join("resolv.conf"))?;
    symlink("../run/systemd/resolve/stub-resolv.conf", etc.join("resolv.conf"))?;
    let mut enable = host::command("systemctl");
    let mut root = std::ffi::OsString::from("--root=");
    root.push(tree);
    enable.arg(root).args(["enable", "systemd-networkd", "systemd-resolved"]);
    host::finish(&mut enable)?;
    Ok(())
}

/// The sources of upstream's image.
fn sources(suite: Suite) -> String {
    let suite = suite.as_str();
    let keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    format!(
        "Types: deb\nURIs: http://deb.debian.org/debian\nSuites: {suite} {suite}-updates\n\
         Components: main\nSigned-By: {keyring}\n\n\
         Types: deb\nURIs: http://deb.debian.org/debian-security\nSuites: {suite}-security\n\
         Components: main\nSigned-By: {keyring}\n"
    )
}

/// The lab's package server stands where Debian's does, so its key joins Debian's keys.
fn add_trust(suite: Suite, trust: &Trust, tree: &Path) -> Result<()> {
    let keyrings = tree.join("usr/share/keyrings");
    let name = match suite {
        // Where the `.gpg` name is a link to this one.
        Suite::Trixie => "debian-archive-keyring.pgp",
        Suite::Bookworm => "debian-archive-keyring.gpg",
    };
    let mut keys = fs::read(keyrings.join(name))?;
    keys.extend(fs::read(trust.keyring())?);
    fs::write(keyrings.join(name), keys)?;
    let own = tree.join("usr/local/share/ca-certificates");
    fs::create_dir_all(&own)?;
    fs::copy(trust.ca(), own.join("ferrite-lab.crt"))?;
    host::finish(host::bound("chroot").arg(tree).arg("update-ca-certificates"))?;
    Ok(())
}

/// A bare ext4 file system in a qcow2; the lab's guests need no partitions to boot from.
fn pack(tree: &Path, disk: &Path, target: &Path) -> Result<()> {
    host::finish(host::command("truncate").args(["-s", SIZE]).arg(disk))?;
    host::finish(
        host::bound("mkfs.ext4")
            // Small disks would get blocks of 1 KiB, and with them a limit to growth.
            .args(["-q", "-F", "-b", "4096", "-m", "0", "-L", "cloudimg-rootfs"])
            .args(["-E", "lazy_itable_init=1,lazy_journal_init=1", "-d"])
            .arg(tree)
            .arg(disk),
    )?;
    host::finish(
        host::bound("qemu-img")
            .args(["convert", "-f", "raw", "-O", "qcow2", "-c"])
            .args(["-o", "compression_type=zstd"])
            .arg(disk)
            .arg(target),
    )?;
    Ok(())
}
