//! Runs programs of the host and reports what they said when they fail.

use std::ffi::OsStr;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};

/// Where administration programs live; an ordinary user's `PATH` lacks half of it.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// A command with a plain environment: the caller's locale, proxies and `LD_*` stay out of it.
pub(crate) fn command(program: &str) -> Command {
    let mut command = Command::new(program);
    command
        .env_clear()
        .env("PATH", PATH)
        .env("HOME", "/root")
        .env("LC_ALL", "C.UTF-8")
        .stdin(Stdio::null());
    command
}

/// Runs a program to its end and returns its standard output.
pub(crate) fn run<S: AsRef<OsStr>>(
    program: &str,
    args: impl IntoIterator<Item = S>,
) -> Result<String> {
    finish(command(program).args(args))
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
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("cannot run {name}"))?;
    Ok((
        output.status.code(),
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    ))
}

/// The sentence for a command that failed: what was run, and the last lines it wrote.
pub(crate) fn failure(command: &Command, status: Option<i32>, stderr: &str) -> String {
    let mut text = command.get_program().to_string_lossy().into_owned();
    for arg in command.get_args() {
        text.push(' ');
        text.push_str(&arg.to_string_lossy());
    }
    text.push_str(&match status {
        Some(code) => format!(" ended with {code}"),
        None => " was killed".to_owned(),
    });
    let lines: Vec<&str> = stderr.lines().filter(|l| !l.trim().is_empty()).collect();
    let tail = lines[lines.len().saturating_sub(4)..].join("; ");
    if !tail.is_empty() {
        text.push_str(": ");
        text.push_str(&tail);
    }
    text
}
