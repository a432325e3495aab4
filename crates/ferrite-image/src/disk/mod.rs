//! Disks as files: where the root file system is on one, and its growth.
//!
//! Two kinds are known: a GPT as upstream's cloud images have it, and a bare file system.

mod ext4;
pub mod gpt;

use std::fs::{File, OpenOptions};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, MsFlags, mount, umount2};
use nix::sched::{CloneFlags, unshare};

use crate::program;

/// Where the root file system is on a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Root {
    /// Where it begins, in bytes.
    pub offset: u64,
    /// The room for it, in bytes.
    pub room: u64,
    /// The size of the ext4 in that room, if it is one.
    pub ext4: Option<u64>,
}

impl Root {
    /// The options of `mount` for it. Where it ends the file system knows; a limit would hide it
    /// if the disk grows meanwhile.
    #[must_use]
    pub fn mount_options(&self) -> String {
        format!("loop,offset={}", self.offset)
    }
}

/// Finds the root file system of a disk.
///
/// # Errors
/// When the disk cannot be read or its partition table is damaged.
pub fn root(disk: &Path) -> Result<Option<Root>> {
    let file = File::open(disk).with_context(|| format!("cannot open {}", disk.display()))?;
    let table = gpt::read(&file).with_context(|| format!("cannot use {}", disk.display()))?;
    let (offset, room) = match table {
        Some(table) => {
            let Some(root) = table.root() else { return Ok(None) };
            (root.first * gpt::SECTOR, (root.last - root.first + 1) * gpt::SECTOR)
        }
        None => (0, file.metadata()?.len()),
    };
    let ext4 = ext4::size(&file, offset)?;
    // A disk without partitions and without a file system is empty.
    Ok((offset > 0 || ext4.is_some()).then_some(Root { offset, room, ext4 }))
}

/// Grows the root, partition and file system, to the size of its disk.
///
/// # Errors
/// When the file system is damaged beyond automatic repair, or a program fails.
pub fn grow(disk: &Path) -> Result<()> {
    let file = OpenOptions::new().read(true).write(true).open(disk)?;
    let size = file.metadata()?.len();
    if let Some(mut table) = gpt::read(&file)?
        && table.stretch(size)
    {
        table.write(&file)?;
    }
    let Some(Root { offset, room, ext4: Some(now) }) = root(disk)? else {
        return Ok(());
    };
    if now >= room / 4096 * 4096 {
        return Ok(());
    }
    if offset == 0 {
        return check_and_stretch(disk);
    }
    let mut check = tool("e2fsck");
    check.args(["-f", "-p"]).arg(at(disk, offset));
    repaired(&mut check)?;
    // resize2fs cuts a file to the size of its file system, wherever in the file that begins
    through_loop(disk, offset, room, check_and_stretch)
}

/// Looks whether a root file system is whole, without changing it.
///
/// # Errors
/// When it is not.
pub fn check(disk: &Path, root: &Root) -> Result<()> {
    if root.ext4.is_some() {
        program::finish(tool("e2fsck").args(["-f", "-n"]).arg(at(disk, root.offset)))?;
    }
    Ok(())
}

fn check_and_stretch(disk: &Path) -> Result<()> {
    let mut check = tool("e2fsck");
    check.args(["-f", "-p"]).arg(disk);
    repaired(&mut check)?;
    program::finish(tool("resize2fs").arg(disk))?;
    Ok(())
}

fn repaired(check: &mut Command) -> Result<()> {
    let (status, _, stderr) = program::output(check)?;
    // 1: what was wrong has been repaired.
    if !matches!(status, Some(0 | 1)) {
        bail!("{}", program::failure(check, status, &stderr));
    }
    Ok(())
}

/// A file system inside of a file, as e2fsprogs name it.
fn at(disk: &Path, offset: u64) -> PathBuf {
    let mut name = disk.as_os_str().to_owned();
    name.push(format!("?offset={offset}"));
    PathBuf::from(name)
}

/// A program that ends with us.
fn tool(name: &str) -> Command {
    let mut command = program::command("setpriv");
    command.args(["--pdeathsig", "KILL", name]);
    command
}

/// Does something with a part of a disk as a block device.
///
/// Only mounting makes a loop device that the kernel takes away by itself, whatever becomes of us:
/// it is mounted for a moment, in a name space of a thread, and then kept by being open.
fn through_loop(
    disk: &Path,
    offset: u64,
    room: u64,
    work: impl FnOnce(&Path) -> Result<()> + Send,
) -> Result<()> {
    in_mount_namespace(|| {
        let place = disk.parent().unwrap_or_else(|| Path::new("/"));
        let options = format!("loop,offset={offset},sizelimit={room}");
        let mut mounting = program::command("mount");
        mounting.args(["-t", "ext4", "-o", &options]).arg(disk).arg(place);
        program::finish(&mut mounting)?;
        let device = device_of(place)?;
        let kept = File::open(&device);
        umount2(place, MntFlags::empty()).context("cannot unmount the disk again")?;
        let kept = kept.with_context(|| format!("cannot open {}", device.display()))?;
        let result = work(&device);
        drop(kept);
        result
    })
}

/// The loop device that is mounted at a place.
fn device_of(place: &Path) -> Result<PathBuf> {
    let number = std::fs::metadata(place)?.dev();
    let (major, minor) = (nix::sys::stat::major(number), nix::sys::stat::minor(number));
    let name = std::fs::read_link(format!("/sys/dev/block/{major}:{minor}"))
        .with_context(|| format!("cannot find the device {major}:{minor}"))?;
    Ok(Path::new("/dev").join(name.file_name().unwrap_or_default()))
}

/// Runs something on a thread whose mounts nobody else sees, and which vanish with it.
pub(crate) fn in_mount_namespace<T: Send>(work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            unshare(CloneFlags::CLONE_NEWNS).context("cannot make a name space for mounts")?;
            let none = None::<&str>;
            mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_PRIVATE, none)
                .context("cannot make the mounts private")?;
            work()
        });
        thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("the thread that mounts broke")))
    })
}
