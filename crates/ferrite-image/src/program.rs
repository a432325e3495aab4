//! Runs programs of the host and reports what they said when they fail.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Where administration programs live; an ordinary user's `PATH` lacks half of it.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// How many of the last lines of a failed program are shown.
const LINES: usize = 4;

/// The programs that are not there.
pub(crate) fn missing(names: &[&'static str]) -> Vec<&'static str> {
    let there = |name: &&str| PATH.split(':').any(|dir| PathBuf::from(dir).join(name).exists());
    names.iter().copied().filter(|name| !there(name)).collect()
}

/// A command with a plain environment: the caller's locale and `LD_*` stay out of it.
pub(crate) fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    plain(&mut command);
    command
}

/// A command that the kernel ends together with the thread that started it, however that ends, with
/// all its children and what they mounted: they have namespaces of their own.
///
/// `proc` is where those children look for processes.
pub(crate) fn bound(proc: &OsStr) -> Command {
    let mut command = command("setpriv");
    let mut mount = std::ffi::OsString::from("--mount-proc=");
    mount.push(proc);
    command
        .args(["--pdeathsig", "KILL", "unshare", "--pid", "--fork", "--kill-child"])
        .args(["--mount", "--propagation", "private"])
        .arg(mount);
    command
}

fn plain(command: &mut Command) {
    command
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
}

/// Lets a command reach a mirror that is behind a proxy.
pub(crate) fn with_proxies(command: &mut Command) {
    for name in ["http_proxy", "https_proxy", "no_proxy"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
}

/// Runs a prepared command to its end and returns its standard output.
pub(crate) fn finish(command: &mut Command) -> Result<String> {
    let (status, stdout, stderr) = output(command)?;
    if status != Some(0) {
        bail!("{}", failure(command, status, &stderr));
    }
    Ok(stdout)
}

/// Runs a prepared command whose exit status means something.
pub(crate) fn output(command: &mut Command) -> Result<(Option<i32>, String, String)> {
    let output = command.output().with_context(|| format!("cannot run {}", spoken(command)))?;
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

/// The sentence for a command that failed: what was run, and the last lines it wrote.
pub(crate) fn failure(command: &Command, status: Option<i32>, stderr: &str) -> String {
    let mut text = spoken(command);
    text.push_str(&match status {
        Some(code) => format!(" ended with {code}"),
        None => " was killed".to_owned(),
    });
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.trim().is_empty()).collect();
    // apt warns much and says in its errors what went wrong
    let errors: Vec<&str> = lines.iter().copied().filter(|line| line.starts_with("E: ")).collect();
    let told = if errors.is_empty() { &lines } else { &errors };
    let tail = told[told.len().saturating_sub(LINES)..].join("; ");
    if !tail.is_empty() {
        text.push_str(": ");
        text.push_str(&tail);
    }
    text
}

/// A command as a person would have typed it, without what binds it to us.
fn spoken(command: &Command) -> String {
    let mut words = vec![command.get_program().to_string_lossy().into_owned()];
    words.extend(command.get_args().map(|word| word.to_string_lossy().into_owned()));
    if words[0] == "setpriv" {
        let own = words.iter().position(|word| word.starts_with("--mount-proc"));
        words.drain(..own.map_or(0, |at| at + 1));
    }
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn a_failed_program_is_named_with_its_last_words() {
        let mut bound = bound(OsStr::new("/proc"));
        bound.args(["chroot", "/x", "apt-get", "update"]);
        let rows = [
            (
                "errors of apt alone",
                failure(&bound, Some(100), "W: old\nE: no such file\n"),
                "chroot /x apt-get update ended with 100: E: no such file",
            ),
            (
                "the last lines",
                failure(command("true").arg("a"), Some(2), "1\n\n2\n3\n4\n5\n"),
                "true a ended with 2: 2; 3; 4; 5",
            ),
            ("killed", failure(&command("true"), None, ""), "true was killed"),
        ];
        for (name, said, expected) in rows {
            assert_eq!(said, expected, "{name}");
        }
    }

    #[test]
    fn programs_that_are_missing_are_named() {
        assert_eq!(missing(&["sh", "no-such-program-here"]), ["no-such-program-here"]);
    }

    #[test]
    fn what_is_bound_dies_with_its_starter_and_leaves_no_mount() {
        let folder = tempfile::tempdir().unwrap();
        let (ready, place) = (folder.path().join("ready"), folder.path().join("place"));
        fs::create_dir(&place).unwrap();
        let lives = || {
            fs::read_dir("/proc").unwrap().flatten().any(|entry| {
                let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
                let place = place.as_os_str().as_encoded_bytes();
                line.split(|byte| *byte == 0).any(|word| word == place)
            })
        };
        let wait = |what: &str, done: &dyn Fn() -> bool| {
            let end = Instant::now() + Duration::from_secs(20);
            while !done() {
                assert!(Instant::now() < end, "{what}");
                std::thread::yield_now();
            }
        };
        let script = r#"mount -t proc proc "$1" && (sleep 300 & : >"$2"; wait; true) & wait"#;
        let mut child = std::thread::scope(|scope| {
            let starter = scope.spawn(|| {
                let mut command = bound(OsStr::new("/proc"));
                command.args(["sh", "-c", script, "sh"]).arg(&place).arg(&ready);
                let child = command.spawn().unwrap();
                wait("it did not start", &|| ready.exists());
                assert!(lives());
                child
            });
            starter.join().unwrap()
        });
        assert!(!child.wait().unwrap().success());
        wait("a child outlived its starter", &|| !lives());
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        assert!(!mounts.contains(&*place.to_string_lossy()));
    }
}
