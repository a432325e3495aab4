//! Running commands: never a shell, always bounded, in the C locale.

use std::fmt;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;

/// Enough for every command that does not fetch anything.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);
/// Both sbin folders: an Ansible login often has neither.
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How a command is told of a root that is not `/`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rooted {
    /// The node's own program, after chroot.
    Chroot,
    /// The machine's program with `--root=ROOT` as its first argument.
    Option,
    /// The machine's program; the caller already put the root into the arguments.
    Outside,
}

/// A command to run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    program: String,
    args: Vec<String>,
    env: Vec<(String, String)>,
    timeout: Duration,
    rooted: Rooted,
}

impl Command {
    /// A command with the program's name or path.
    #[must_use]
    pub fn new(program: &str) -> Self {
        Self {
            program: program.to_owned(),
            args: Vec::new(),
            env: Vec::new(),
            timeout: DEFAULT_TIMEOUT,
            rooted: Rooted::Chroot,
        }
    }

    /// Adds an argument.
    #[must_use]
    pub fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    /// Adds arguments.
    #[must_use]
    pub fn args<S: Into<String>>(mut self, args: impl IntoIterator<Item = S>) -> Self {
        self.args.extend(args.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable; the others are inherited, `LC_ALL=C` is always set.
    #[must_use]
    pub fn env(mut self, key: &str, value: impl Into<String>) -> Self {
        self.env.push((key.to_owned(), value.into()));
        self
    }

    /// Bounds its time; a minute otherwise.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.timeout = timeout;
        self
    }

    /// Says how a root other than `/` is taken into account; by chroot otherwise.
    #[must_use]
    pub fn rooted(mut self, rooted: Rooted) -> Self {
        self.rooted = rooted;
        self
    }

    /// Program and arguments.
    #[must_use]
    pub fn argv(&self) -> Vec<&str> {
        std::iter::once(self.program.as_str()).chain(self.args.iter().map(String::as_str)).collect()
    }

    /// The same command with the root worked in.
    pub(crate) fn resolved(&self, root: &Path) -> Self {
        let mut command = self.clone();
        if root == Path::new("/") {
            return command;
        }
        match self.rooted {
            Rooted::Chroot => {
                command.args.insert(0, command.program);
                command.args.insert(0, root.display().to_string());
                command.program = "chroot".to_owned();
            }
            Rooted::Option => command.args.insert(0, format!("--root={}", root.display())),
            Rooted::Outside => {}
        }
        command
    }
}

impl fmt::Display for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.argv().join(" "))
    }
}

/// What a command left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Output {
    /// The exit status; 128 and more for a signal, as shells say it.
    pub status: i32,
    /// Standard output; bytes that are not UTF-8 are replaced.
    pub stdout: String,
    /// Standard error, alike.
    pub stderr: String,
}

impl Output {
    /// Whether the exit status is 0.
    #[must_use]
    pub fn success(&self) -> bool {
        self.status == 0
    }

    /// Standard error without surrounding blanks, or standard output if there is none.
    #[must_use]
    pub fn complaint(&self) -> &str {
        let text = self.stderr.trim();
        if text.is_empty() { self.stdout.trim() } else { text }
    }

    /// This output, or an error if the exit status is not 0.
    ///
    /// # Errors
    /// Names the command and passes on what it said.
    pub fn check(self, command: &Command) -> Result<Self, CommandError> {
        if self.success() {
            return Ok(self);
        }
        Err(CommandError::Failed {
            command: command.to_string(),
            status: self.status,
            complaint: self.complaint().to_owned(),
        })
    }
}

/// Why a command did not do its work.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// There is no such program.
    #[error("command '{program}' is not installed")]
    Absent {
        /// Its name.
        program: String,
    },
    /// It could not be started or read.
    #[error("failed to run '{command}'")]
    Start {
        /// The command line.
        command: String,
        /// Why.
        source: io::Error,
    },
    /// It did not end.
    #[error("'{command}' did not end within {seconds} s and was stopped")]
    TimedOut {
        /// The command line.
        command: String,
        /// The limit.
        seconds: u64,
    },
    /// It ended with a status other than 0.
    #[error("'{command}' ended with status {status}: {complaint}")]
    Failed {
        /// The command line.
        command: String,
        /// The exit status.
        status: i32,
        /// What it said.
        complaint: String,
    },
}

/// The seam between real commands and a test's.
pub trait Runner: fmt::Debug {
    /// Runs the command to its end.
    ///
    /// # Errors
    /// As [`crate::Node::run`].
    fn run(&self, command: &Command) -> Result<Output, CommandError>;
}

/// Runs commands for real.
#[derive(Debug, Clone, Copy)]
pub struct SystemRunner;

impl Runner for SystemRunner {
    fn run(&self, command: &Command) -> Result<Output, CommandError> {
        let start = |source| CommandError::Start { command: command.to_string(), source };
        if !command.program.contains('/') && find(&command.program).is_none() {
            return Err(CommandError::Absent { program: command.program.clone() });
        }
        let mut child = std::process::Command::new(&command.program)
            .args(&command.args)
            .env("PATH", PATH)
            .env("LC_ALL", "C")
            .env_remove("LANGUAGE")
            .envs(command.env.iter().map(|(key, value)| (key, value)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // a group of its own, so that a command that hangs is stopped with its children
            .process_group(0)
            .spawn()
            .map_err(|source| match source.kind() {
                io::ErrorKind::NotFound => {
                    CommandError::Absent { program: command.program.clone() }
                }
                _ => start(source),
            })?;
        let stdout = Reader::new(child.stdout.take());
        let stderr = Reader::new(child.stderr.take());
        let deadline = Instant::now() + command.timeout;
        let Some(status) = wait(&mut child, deadline).map_err(start)? else {
            stop(&mut child);
            return Err(CommandError::TimedOut {
                command: command.to_string(),
                seconds: command.timeout.as_secs(),
            });
        };
        let status = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Ok(Output { status, stdout: stdout.text(), stderr: stderr.text() })
    }
}

/// Where a program lies.
fn find(program: &str) -> Option<PathBuf> {
    PATH.split(':').map(|folder| Path::new(folder).join(program)).find(|path| path.is_file())
}

/// Waits until the child ended, or the deadline.
fn wait(child: &mut Child, deadline: Instant) -> io::Result<Option<std::process::ExitStatus>> {
    let mut pause = Duration::from_millis(1);
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Ok(None);
        }
        std::thread::sleep(pause.min(left));
        pause = (pause * 2).min(Duration::from_millis(20));
    }
}

/// Ends a child with all that it started: asks first, then kills.
fn stop(child: &mut Child) {
    let group = Pid::from_raw(i32::try_from(child.id()).unwrap_or(i32::MAX));
    let _ = killpg(group, Signal::SIGTERM);
    if !matches!(wait(child, Instant::now() + Duration::from_secs(2)), Ok(Some(_))) {
        let _ = killpg(group, Signal::SIGKILL);
        let _ = child.wait();
    }
}

/// Reads a pipe to its end beside the main thread.
struct Reader {
    bytes: Arc<Mutex<Vec<u8>>>,
    thread: Option<JoinHandle<()>>,
}

impl Reader {
    fn new(pipe: Option<impl Read + Send + 'static>) -> Self {
        let bytes = Arc::new(Mutex::new(Vec::new()));
        let thread = pipe.map(|mut pipe| {
            let bytes = Arc::clone(&bytes);
            std::thread::spawn(move || {
                let mut buffer = [0; 8192];
                while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                    if let Ok(mut bytes) = bytes.lock() {
                        bytes.extend_from_slice(&buffer[..count]);
                    }
                }
            })
        });
        Self { bytes, thread }
    }

    /// What was read. A daemon that the command left behind may hold the pipe open for ever, so
    /// the end of the pipe is awaited for a second only.
    fn text(self) -> String {
        if let Some(thread) = self.thread {
            let deadline = Instant::now() + Duration::from_secs(1);
            while !thread.is_finished() && Instant::now() < deadline {
                std::thread::sleep(Duration::from_millis(1));
            }
        }
        self.bytes
            .lock()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Command {
        Command::new("sh").args(["-c", script])
    }

    #[test]
    fn captures_status_and_both_streams() {
        let output = SystemRunner.run(&sh("echo out; echo err >&2; echo $LC_ALL; exit 3")).unwrap();
        assert_eq!(output, Output { status: 3, stdout: "out\nC\n".into(), stderr: "err\n".into() });
        let error = output.check(&sh("x")).unwrap_err();
        assert_eq!(error.to_string(), "'sh -c x' ended with status 3: err");
    }

    #[test]
    fn a_command_that_hangs_is_stopped_with_its_children() {
        let began = Instant::now();
        let command = sh("sleep 60 & sleep 60").timeout(Duration::from_millis(100));
        let error = SystemRunner.run(&command).unwrap_err();
        assert!(error.to_string().ends_with("did not end within 0 s and was stopped"), "{error}");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn a_daemon_left_behind_does_not_hold_us_up() {
        let began = Instant::now();
        let output = SystemRunner.run(&sh("sleep 30 & echo started")).unwrap();
        assert_eq!(output.stdout, "started\n");
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn an_absent_program_is_named() {
        let error = SystemRunner.run(&Command::new("ferrite-no-such")).unwrap_err();
        assert_eq!(error.to_string(), "command 'ferrite-no-such' is not installed");
    }

    #[test]
    fn a_root_is_worked_in_as_the_command_allows() {
        let root = Path::new("/srv/tree");
        let command = Command::new("systemctl").args(["mask", "x.timer"]);
        let table = [
            (Rooted::Chroot, "chroot /srv/tree systemctl mask x.timer"),
            (Rooted::Option, "systemctl --root=/srv/tree mask x.timer"),
            (Rooted::Outside, "systemctl mask x.timer"),
        ];
        for (rooted, wanted) in table {
            let command = command.clone().rooted(rooted);
            assert_eq!(command.resolved(root).to_string(), wanted);
            assert_eq!(command.resolved(Path::new("/")).to_string(), "systemctl mask x.timer");
        }
    }
}
