//! A build runs in a process of its own, so that there is somebody to clear up when it is told to
//! end. It dies with us, however we die, and all that it started dies with it.

use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use anyhow::{Context, Result};
use nix::sys::signal::{SigSet, Signal};

use crate::build;

/// Set in the process that builds.
const WORKER: &str = "FERRITE_IMAGE_WORKER";

/// Whether this is the process that builds.
pub(super) fn is_worker() -> bool {
    std::env::var_os(WORKER).is_some()
}

/// What ends a build, and what tells that it has ended.
fn signals() -> SigSet {
    [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGCHLD].into_iter().collect()
}

/// Takes signals as usual: those that are held back are inherited.
pub(super) fn begin() -> Result<()> {
    signals().thread_unblock().context("cannot take signals")
}

/// Starts the process that builds, and waits for its end or for a signal.
pub(super) fn run(output: &Path) -> Result<ExitCode> {
    let signals = signals();
    signals.thread_block().context("cannot hold signals back")?;
    let own = std::env::current_exe().context("cannot find ferrite-image itself")?;
    let mut worker = Command::new("setpriv")
        .args(["--pdeathsig", "KILL"])
        .arg(own)
        .args(std::env::args_os().skip(1))
        .env(WORKER, "1")
        .spawn()
        .context("cannot run setpriv of util-linux")?;
    loop {
        let signal = signals.wait().context("cannot wait for signals")?;
        let status = worker.try_wait()?;
        match status {
            Some(status) => return ended(status, output),
            None if signal == Signal::SIGCHLD => {}
            None => {
                worker.kill().context("cannot end the build")?;
                worker.wait()?;
                build::clear(output)?;
                eprintln!("ferrite-image: ended by {signal}; nothing is left behind");
                return Ok(ExitCode::from(128 + u8::try_from(signal as i32).unwrap_or(0)));
            }
        }
    }
}

fn ended(status: ExitStatus, output: &Path) -> Result<ExitCode> {
    let Some(code) = status.code() else {
        build::clear(output)?;
        anyhow::bail!("the build was killed ({status}); nothing is left behind");
    };
    Ok(ExitCode::from(u8::try_from(code).unwrap_or(1)))
}
