//! A system made from Debian's packages, and a disk made from it.

use std::fs::File;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use super::room;
use super::work::Work;
use crate::disk::{self, gpt};
use crate::program;

/// The size of the disk if the spec names none, as upstream's.
pub(super) const SIZE: u64 = 3 << 30;

/// What a system and its archives take on the build host, at most.
const NEEDED: u64 = 1 << 30;

/// What manual pages and translations would take is left out.
const LEFT_OUT: [&str; 4] = [
    "path-exclude=/usr/share/man/*",
    "path-exclude=/usr/share/locale/*",
    "path-exclude=/usr/share/doc/*",
    "path-include=/usr/share/doc/*/copyright",
];

/// Makes the tree of a system.
pub(super) fn tree(
    suite: &str,
    mirror: Option<&str>,
    keyring: Option<&Path>,
    packages: &[String],
    work: &Work,
) -> Result<PathBuf> {
    room::on_host(work.path(), NEEDED)?;
    let tree = work.join("tree");
    let mut command = program::bound(Path::new("/proc").as_os_str());
    command
        .args(["mmdebstrap", "--quiet", "--variant=minbase"])
        .arg(format!("--include={}", packages.join(",")))
        .arg(r#"--aptopt=Acquire::Languages "none""#)
        .args(LEFT_OUT.map(|option| format!("--dpkgopt={option}")));
    if mirror.is_some_and(is_dated) {
        command.arg(r#"--aptopt=Acquire::Check-Valid-Until "false""#);
    }
    if let Some(keyring) = keyring {
        let mut option = std::ffi::OsString::from("--keyring=");
        option.push(keyring);
        command.arg(option);
    }
    command.arg(suite).arg(&tree).args(mirror);
    program::with_proxies(&mut command);
    program::finish(&mut command).with_context(|| format!("cannot make a system of {suite}"))?;
    own_traces(&tree)?;
    Ok(tree)
}

/// What mmdebstrap takes over from the build host or leaves of its own.
fn own_traces(tree: &Path) -> Result<()> {
    for name in ["etc/hostname", "etc/resolv.conf", "etc/apt/apt.conf.d/99mmdebstrap"] {
        let path = tree.join(name);
        if path.is_symlink() {
            // a package's own
            continue;
        }
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).with_context(|| format!("cannot remove /{name}"));
            }
            _ => {}
        }
    }
    Ok(())
}

/// A mirror with a date in its path has expired, and holds all the same.
fn is_dated(mirror: &str) -> bool {
    let date = |part: &str| {
        part.len() == 16 && part.ends_with('Z') && part[..8].bytes().all(|b| b.is_ascii_digit())
    };
    mirror.split('/').any(date)
}

/// Writes a tree to a disk partitioned as upstream's.
pub(super) fn disk(name: &str, tree: &Path, size: u64, work: &Work) -> Result<PathBuf> {
    let disk = work.join("disk.raw");
    let file = File::create_new(&disk)?;
    file.set_len(size)?;
    gpt::Table::upstream(name, size).write(&file)?;
    let root = disk::root(&disk)?.context("the disk has no root partition")?;
    let mut make = program::bound(Path::new("/proc").as_os_str());
    make.arg("mkfs.ext4")
        // Small disks would get blocks of 1 KiB, and with them a limit to growth.
        .args(["-q", "-F", "-b", "4096", "-m", "0", "-L", "cloudimg-rootfs", "-E"])
        .arg(format!("lazy_itable_init=1,lazy_journal_init=1,offset={}", root.offset))
        .arg("-d")
        .arg(tree)
        .arg(&disk)
        .arg(format!("{}k", root.room / 4096 * 4));
    program::finish(&mut make).context("cannot make the file system; is the disk too small?")?;
    ensure!(file.metadata()?.len() == size, "mkfs.ext4 changed the size of the disk");
    Ok(disk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mirrors_with_a_date_are_told() {
        for (mirror, expected) in [
            ("http://snapshot.debian.org/archive/debian/20250601T000000Z/", true),
            ("http://deb.debian.org/debian", false),
            ("http://m.example/20250601", false),
        ] {
            assert_eq!(is_dated(mirror), expected, "{mirror}");
        }
    }
}
