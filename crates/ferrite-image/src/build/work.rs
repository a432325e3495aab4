//! The folder beside the output that a build works in.
//!
//! It is locked while somebody is at it, so that what a killed build left behind can be told from
//! the work of another and be removed.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};

/// How long the kernel may take to end what a killed build was doing.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// A folder to work in, until it is dropped.
#[derive(Debug)]
pub(super) struct Work {
    path: PathBuf,
    _lock: Flock<File>,
}

impl Work {
    /// The folder for this output, empty. Says whether something was left in it.
    pub(super) fn open(output: &Path) -> Result<(Self, bool)> {
        let path = place(output);
        loop {
            match fs::create_dir(&path) {
                Err(error) if error.kind() != ErrorKind::AlreadyExists => {
                    return Err(error).with_context(|| format!("cannot make {}", path.display()));
                }
                _ => {}
            }
            let Some(lock) = lock(&path)? else {
                bail!(
                    "another build of {} is at work in {}; wait for it",
                    output.display(),
                    path.display()
                );
            };
            let Some(lock) = lock.into_locked(&path)? else { continue };
            let left = fs::read_dir(&path)?.next().is_some();
            if left {
                empty(&path)?;
            }
            return Ok((Self { path, _lock: lock }, left));
        }
    }

    pub(super) fn join(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        // The next build reports what could not be removed.
        let _ = empty(&self.path).and_then(|()| Ok(fs::remove_dir(&self.path)?));
    }
}

/// Removes what a build that was killed left behind.
pub(super) fn clear(output: &Path) -> Result<()> {
    let path = place(output);
    let end = Instant::now() + LIMIT;
    while path.exists() {
        match Work::open(output) {
            Ok((work, _)) => {
                drop(work);
                until_free(&path, end)?;
            }
            Err(error) if Instant::now() > end => return Err(error),
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
    Ok(())
}

/// Waits until no loop device is on a file in the folder any more.
fn until_free(path: &Path, end: Instant) -> Result<()> {
    while let Some(device) = loops(path).first() {
        if Instant::now() > end {
            bail!("{device} is still in use; 'losetup --detach /dev/{device}' frees it");
        }
        std::thread::sleep(PAUSE);
    }
    Ok(())
}

/// The loop devices on files in a folder.
fn loops(path: &Path) -> Vec<String> {
    let all = fs::read_dir("/sys/block").into_iter().flatten().flatten();
    all.filter(|entry| {
        let file = fs::read_to_string(entry.path().join("loop/backing_file")).unwrap_or_default();
        Path::new(file.trim_end()).starts_with(path)
    })
    .map(|entry| entry.file_name().to_string_lossy().into_owned())
    .collect()
}

fn place(output: &Path) -> PathBuf {
    let name = output.file_name().unwrap_or_default().to_string_lossy();
    let folder = output.parent().unwrap_or_else(|| Path::new("/"));
    folder.join(format!(".{name}.build"))
}

/// A lock whose folder may have been removed in the meantime.
struct Taken(Flock<File>);

impl Taken {
    fn into_locked(self, path: &Path) -> Result<Option<Flock<File>>> {
        let same = |now: fs::Metadata, ours: fs::Metadata| now.ino() == ours.ino();
        let ours = self.0.metadata()?;
        Ok(fs::metadata(path).is_ok_and(|now| same(now, ours)).then_some(self.0))
    }
}

fn lock(path: &Path) -> Result<Option<Taken>> {
    let folder = File::open(path).with_context(|| format!("cannot open {}", path.display()))?;
    match Flock::lock(folder, FlockArg::LockExclusiveNonblock) {
        Ok(lock) => Ok(Some(Taken(lock))),
        Err((_, nix::errno::Errno::EWOULDBLOCK)) => Ok(None),
        Err((_, error)) => bail!("cannot lock {}: {error}", path.display()),
    }
}

/// Empties the folder. Those whose end is near may still write into it.
fn empty(path: &Path) -> Result<()> {
    let end = Instant::now() + LIMIT;
    loop {
        let removed = fs::read_dir(path)?.flatten().try_for_each(|entry| {
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())
            } else {
                fs::remove_file(entry.path())
            }
        });
        match removed {
            Ok(()) => return Ok(()),
            Err(error) if Instant::now() > end => {
                return Err(error).with_context(|| format!("cannot empty {}", path.display()));
            }
            Err(_) => std::thread::sleep(PAUSE),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_belongs_to_one_build_and_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let output = folder.path().join("x.qcow2");
        let (work, left) = Work::open(&output).unwrap();
        assert!(!left);
        let said = Work::open(&output).unwrap_err().to_string();
        let place = folder.path().join(".x.qcow2.build");
        assert_eq!(
            said,
            format!(
                "another build of {} is at work in {}; wait for it",
                output.display(),
                place.display()
            )
        );
        drop(work);
        assert!(!place.exists());

        fs::create_dir_all(place.join("tree/etc")).unwrap();
        fs::write(place.join("disk.raw"), "x").unwrap();
        let (work, left) = Work::open(&output).unwrap();
        assert!(left);
        assert_eq!(fs::read_dir(work.path()).unwrap().count(), 0);
        drop(work);

        fs::create_dir_all(place.join("tree")).unwrap();
        clear(&output).unwrap();
        assert!(!place.exists());
    }
}
