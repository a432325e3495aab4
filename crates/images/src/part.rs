//! The part of a file that has come so far, beside its place.
//!
//! Its name follows from the file's, so that what a killed run left is taken over by the next one,
//! and it is locked while somebody writes it, so that two of them do not write into one another.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

/// A file that is not there yet; without [`Part::finish`] nothing of it stays.
#[derive(Debug)]
pub(crate) struct Part {
    path: PathBuf,
    file: Flock<File>,
    done: bool,
}

impl Part {
    /// Begins one for this place.
    pub(crate) fn of(to: &Path) -> io::Result<Self> {
        let name = to.file_name().ok_or_else(|| io::Error::from(ErrorKind::InvalidFilename))?;
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        hidden.push(".part");
        let path = to.with_file_name(hidden);
        loop {
            let mut options = OpenOptions::new();
            options.read(true).write(true).create(true).truncate(false).mode(0o644);
            // nobody else's file is written through a link
            let file = options.custom_flags(nix::libc::O_NOFOLLOW).open(&path)?;
            let file = match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
                Ok(file) => file,
                Err((_, Errno::EWOULDBLOCK)) => {
                    return Err(io::Error::other(format!(
                        "somebody else is just fetching it into {}",
                        path.display()
                    )));
                }
                Err((_, error)) => return Err(error.into()),
            };
            // between opening and locking it may have become the file, or have been given up
            let same = fs::metadata(&path).is_ok_and(|now| {
                file.metadata().is_ok_and(|ours| (now.dev(), now.ino()) == (ours.dev(), ours.ino()))
            });
            if same {
                file.set_len(0)?;
                return Ok(Self { path, file, done: false });
            }
        }
    }

    /// What is written into.
    pub(crate) fn file(&mut self) -> &mut File {
        &mut self.file
    }

    /// Puts it in its place.
    pub(crate) fn finish(mut self, to: &Path) -> io::Result<()> {
        self.file.sync_all()?;
        fs::rename(&self.path, to)?;
        self.done = true;
        Ok(())
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        if !self.done {
            // the next run takes over what cannot be removed
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_a_killed_run_left_is_taken_over_and_nobody_elses() {
        let folder = tempfile::tempdir().unwrap();
        let (to, part) = (folder.path().join("x.raw"), folder.path().join(".x.raw.part"));
        let names = || fs::read_dir(folder.path()).unwrap().count();
        fs::write(&part, "left by a run that was killed").unwrap();
        let mut one = Part::of(&to).unwrap();
        let said = Part::of(&to).unwrap_err().to_string();
        assert!(said.starts_with("somebody else is just fetching it into "), "{said}");
        one.file().write_all(b"new").unwrap();
        one.finish(&to).unwrap();
        assert_eq!((fs::read(&to).unwrap().as_slice(), names()), (&b"new"[..], 1));
        drop(Part::of(&to).unwrap());
        assert_eq!((fs::read(&to).unwrap().as_slice(), names()), (&b"new"[..], 1));
        std::os::unix::fs::symlink(&to, &part).unwrap();
        assert!(Part::of(&to).is_err());
        assert_eq!(fs::read(&to).unwrap(), b"new");
    }
}
