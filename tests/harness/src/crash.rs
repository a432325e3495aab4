//! Kills a module at any of its steps, as a lost connection or a power cut would: before each call
//! that changes a file, before each command, and while each command runs.
//!
//! Only the module's own steps count, not those of the commands it runs, and these run on when the
//! module is gone. The module may be in a guest: it is followed from the host.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use nix::libc::{self, c_long};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::{Signal, kill};
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// Waits to be followed, then becomes the module.
const HOLD: &str = r#"kill -STOP $$; exec "$@""#;
/// How long it may take until the module can be followed.
const START: Duration = Duration::from_secs(30);

/// The command line under which a program can be killed by [`kill_before`].
#[must_use]
pub fn held(program: &str, argument: &str) -> Vec<String> {
    ["sh", "-c", HOLD, "sh", program, argument].map(str::to_owned).into()
}

/// Runs a command line of [`held`], behind other programs perhaps, and kills the program before
/// the step of this number, from 1. Steps that `counts` refuses are not counted; they are given as
/// what is done, and to which path if to one.
///
/// Gives the step, or nothing if the program came to its end.
///
/// # Panics
/// When the program cannot be followed.
pub fn kill_before(
    mut command: Command,
    number: usize,
    counts: impl Fn(&str) -> bool,
) -> Option<String> {
    let null = Stdio::null;
    let mut child = command
        .stdin(null())
        .stdout(null())
        .stderr(null())
        .spawn()
        .expect("the command can be run");
    let pid = waiting(child.id());
    let options =
        Options::PTRACE_O_TRACESYSGOOD | Options::PTRACE_O_TRACEEXEC | Options::PTRACE_O_EXITKILL;
    ptrace::seize(pid, options).expect("the program can be followed");
    kill(pid, Signal::SIGCONT).expect("it is there");
    let step = follow(pid, number, counts);
    if i64::from(child.id()) != i64::from(pid.as_raw()) {
        // a program in between stopped with it, and would wait for ever
        let _ = child.kill();
    }
    // fails if it was the program itself, which was waited for
    let _ = child.wait();
    step
}

fn follow(pid: Pid, number: usize, counts: impl Fn(&str) -> bool) -> Option<String> {
    let mut seen = 0;
    // the shell's own steps do not count
    let mut begun = false;
    let mut steps = Steps { pid, started: false };
    loop {
        let signal = match waitpid(pid, Some(WaitPidFlag::__WALL)) {
            Ok(WaitStatus::PtraceSyscall(_)) => {
                if begun && let Some(step) = steps.next().filter(|step| counts(step)) {
                    seen += 1;
                    if seen == number {
                        let _ = kill(pid, Signal::SIGKILL);
                        while !matches!(
                            waitpid(pid, Some(WaitPidFlag::__WALL)),
                            Ok(WaitStatus::Signaled(..)) | Err(_)
                        ) {}
                        return Some(step);
                    }
                }
                None
            }
            Ok(WaitStatus::PtraceEvent(_, _, event)) => {
                begun |= event == libc::PTRACE_EVENT_EXEC;
                None
            }
            Ok(WaitStatus::Stopped(_, signal)) => Some(signal),
            _ => return None,
        };
        if ptrace::syscall(pid, signal).is_err() {
            return None;
        }
    }
}

/// Tells a program's steps among its system calls.
struct Steps {
    pid: Pid,
    /// A command was started and has not been waited for.
    started: bool,
}

impl Steps {
    /// The step that the program is about to do.
    fn next(&mut self) -> Option<String> {
        let entry = ptrace::syscall_info(self.pid).ok()?.op == libc::PTRACE_SYSCALL_INFO_ENTRY;
        if !entry {
            return None;
        }
        let regs = ptrace::getregs(self.pid).ok()?;
        let creates = |flags: u64| flags & (libc::O_CREAT | libc::O_TRUNC) as u64 != 0;
        let of_path = |what: &str, address: u64| Some(format!("{what} {}", self.text(address)));
        let of_file = |what: &str| {
            let link = format!("/proc/{}/fd/{}", self.pid, regs.rdi);
            Some(format!("{what} {}", fs::read_link(link).ok()?.display()))
        };
        match regs.orig_rax as c_long {
            libc::SYS_open if creates(regs.rsi) => of_path("create", regs.rdi),
            libc::SYS_openat if creates(regs.rdx) => of_path("create", regs.rsi),
            libc::SYS_write if regs.rdi > 2 => of_file("write"),
            libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_ftruncate => of_file("write"),
            libc::SYS_copy_file_range | libc::SYS_sendfile => of_file("copy"),
            libc::SYS_fchmod | libc::SYS_fchown | libc::SYS_utimensat => of_file("set mode of"),
            libc::SYS_chmod | libc::SYS_chown | libc::SYS_lchown => {
                of_path("set mode of", regs.rdi)
            }
            libc::SYS_rename => of_path("replace", regs.rsi),
            libc::SYS_renameat | libc::SYS_renameat2 => of_path("replace", regs.r10),
            libc::SYS_unlink | libc::SYS_rmdir => of_path("remove", regs.rdi),
            libc::SYS_unlinkat => of_path("remove", regs.rsi),
            libc::SYS_symlink | libc::SYS_link => of_path("link", regs.rsi),
            libc::SYS_symlinkat => of_path("link", regs.rdx),
            libc::SYS_mkdir => of_path("make folder", regs.rdi),
            libc::SYS_mkdirat => of_path("make folder", regs.rsi),
            libc::SYS_mount | libc::SYS_umount2 => of_path("mount", regs.rsi),
            libc::SYS_clone | libc::SYS_clone3 | libc::SYS_vfork | libc::SYS_fork => {
                let flags = match regs.orig_rax as c_long {
                    libc::SYS_clone => regs.rdi,
                    libc::SYS_clone3 => self.word(regs.rdi).unwrap_or(0),
                    _ => 0,
                };
                let is_thread = flags & libc::CLONE_THREAD as u64 != 0;
                self.started |= !is_thread;
                (!is_thread).then(|| "run a command".to_owned())
            }
            libc::SYS_wait4 | libc::SYS_waitid if self.started => {
                self.started = false;
                Some("wait for a command".to_owned())
            }
            _ => None,
        }
    }

    fn word(&self, address: u64) -> Option<u64> {
        ptrace::read(self.pid, address as ptrace::AddressType).ok().map(|word| word as u64)
    }

    /// The text at an address of the program.
    fn text(&self, address: u64) -> String {
        let mut bytes = Vec::new();
        while let Some(word) = self.word(address + bytes.len() as u64) {
            let word = word.to_le_bytes();
            let length = word.iter().position(|byte| *byte == 0);
            bytes.extend_from_slice(&word[..length.unwrap_or(word.len())]);
            if length.is_some() || bytes.len() > 4096 {
                break;
            }
        }
        String::from_utf8_lossy(&bytes).into_owned()
    }
}

/// The process, or one that it started, that waits to be followed.
fn waiting(first: u32) -> Pid {
    let deadline = Instant::now() + START;
    loop {
        let mut pids = vec![first];
        while let Some(pid) = pids.pop() {
            let process = PathBuf::from(format!("/proc/{pid}"));
            let stat = fs::read_to_string(process.join("stat")).unwrap_or_default();
            if stat.contains("(sh) T") {
                return Pid::from_raw(i32::try_from(pid).expect("a process number is small"));
            }
            pids.extend(children(&process));
        }
        assert!(Instant::now() < deadline, "the program did not start");
        // there is no event for a process that is no child of ours
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn children(process: &Path) -> Vec<u32> {
    let tasks = fs::read_dir(process.join("task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|text| {
            text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A script's steps until it is killed before the last of them.
    fn run(folder: &Path, number: usize) -> Option<String> {
        let script = folder.join("script");
        let text = "mkdir one; : > two; mv two three; echo end > four";
        fs::write(&script, text).expect("a file can be written");
        let words = held("/bin/sh", script.to_str().expect("a plain path"));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).current_dir(folder);
        kill_before(command, number, |step| !step.contains("/dev"))
    }

    #[test]
    fn each_step_is_one_at_which_it_can_be_killed() {
        let mut steps = Vec::new();
        for number in 1.. {
            let folder = tempfile::tempdir().expect("a temporary folder can be made");
            let Some(step) = run(folder.path(), number) else {
                assert!(folder.path().join("four").exists());
                break;
            };
            let left = fs::read_dir(folder.path()).expect("it is there").count() - 1;
            assert!(left <= steps.len(), "{step} was done");
            steps.push(step);
        }
        assert_eq!(
            steps,
            [
                "run a command",
                "wait for a command",
                "create two",
                "run a command",
                "wait for a command",
                "create four",
            ]
        );
    }
}
