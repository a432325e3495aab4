//! fcntl locks, as dpkg and apt take them: awaited with a deadline, their holder named.

use std::fmt;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;

use crate::error::NodeError;
use crate::node::Node;

/// How often a lock is tried; there is no call that waits with a limit.
const PAUSE: Duration = Duration::from_millis(100);

/// A lock that is held until this is dropped.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The process; none if the kernel does not say (a lock of an open file description).
    pub pid: Option<i32>,
    /// Its command line.
    pub command: Option<String>,
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.pid, &self.command) {
            (Some(pid), Some(command)) => write!(f, "process {pid} ({command})"),
            (Some(pid), None) => write!(f, "process {pid}"),
            (None, _) => f.write_str("another process"),
        }
    }
}

impl Node {
    /// Who holds the lock on a file; nobody if the file is not there.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn lock_holder(&self, path: impl AsRef<Path>) -> Result<Option<Holder>, NodeError> {
        let path = path.as_ref();
        let error =
            |source| NodeError::File { what: "look at lock", path: path.to_owned(), source };
        let file = match OpenOptions::new().read(true).write(true).open(self.followed(path)?) {
            Ok(file) => file,
            Err(source) if source.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(source) => return Err(error(source)),
        };
        holder(&file).map_err(error)
    }

    /// Waits until nobody holds the lock on a file.
    ///
    /// # Errors
    /// Names the holder when the time is over.
    pub fn wait_unlocked(&self, path: impl AsRef<Path>, limit: Duration) -> Result<(), NodeError> {
        let path = path.as_ref();
        let deadline = Instant::now() + limit;
        while let Some(holder) = self.lock_holder(path)? {
            pause_before(deadline, path, holder, limit)?;
        }
        Ok(())
    }

    /// Takes the lock on a file; the file is made if need be.
    ///
    /// # Errors
    /// Names the holder when the time is over.
    pub fn lock(&self, path: impl AsRef<Path>, limit: Duration) -> Result<Lock, NodeError> {
        let path = path.as_ref();
        let error = |source| NodeError::File { what: "lock", path: path.to_owned(), source };
        let file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o640)
            .open(self.followed(path)?)
            .map_err(error)?;
        let deadline = Instant::now() + limit;
        loop {
            match fcntl(&file, FcntlArg::F_SETLK(&whole_file())) {
                Ok(_) => return Ok(Lock { _file: file }),
                Err(nix::Error::EAGAIN | nix::Error::EACCES) => {
                    if let Some(holder) = holder(&file).map_err(error)? {
                        pause_before(deadline, path, holder, limit)?;
                    }
                }
                Err(errno) => return Err(error(errno.into())),
            }
        }
    }
}

fn whole_file() -> libc::flock {
    #[expect(clippy::cast_possible_truncation, reason = "both constants are 0 or 1")]
    libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    }
}

fn holder(file: &File) -> io::Result<Option<Holder>> {
    let mut lock = whole_file();
    fcntl(file, FcntlArg::F_GETLK(&mut lock))?;
    if i32::from(lock.l_type) == libc::F_UNLCK {
        return Ok(None);
    }
    let pid = Some(lock.l_pid).filter(|pid| *pid > 0);
    Ok(Some(Holder { pid, command: pid.and_then(command_line) }))
}

fn command_line(pid: i32) -> Option<String> {
    let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
    let text = String::from_utf8_lossy(&bytes).trim_end_matches('\0').replace('\0', " ");
    (!text.is_empty()).then_some(text)
}

fn pause_before(
    deadline: Instant,
    path: &Path,
    holder: Holder,
    limit: Duration,
) -> Result<(), NodeError> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(NodeError::Locked { path: path.to_owned(), holder, seconds: limit.as_secs() });
    }
    std::thread::sleep(PAUSE.min(left));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// A process that holds a lock as dpkg does, until its standard input ends.
    fn hold(path: &Path) -> Child {
        let script = "import fcntl,sys\nf=open(sys.argv[1],'w')\nfcntl.lockf(f,fcntl.LOCK_EX)\n\
                      print('held',flush=True)\nsys.stdin.read()";
        let mut child = Command::new("python3")
            .args(["-c", script])
            .arg(path)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        child
    }

    #[test]
    fn g01_the_holder_is_named_at_the_limit() {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        let limit = Duration::from_millis(300);
        node.wait_unlocked("/lock", limit).unwrap();
        drop(node.lock("/lock", limit).unwrap());
        let mut child = hold(&folder.path().join("lock"));
        let error = node.lock("/lock", limit).unwrap_err().to_string();
        let wanted = format!("/lock is locked by process {} (", child.id());
        assert!(error.starts_with(&wanted), "{error}");
        assert!(error.contains("python3 -c import fcntl"), "{error}");
        assert!(node.wait_unlocked("/lock", limit).is_err());
        drop(child.stdin.take());
        node.wait_unlocked("/lock", Duration::from_secs(10)).unwrap();
        node.lock("/lock", limit).unwrap();
        child.wait().unwrap();
    }
}
