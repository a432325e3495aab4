//! Runs apt-get when the locks are free.

use std::time::{Duration, Instant};

use managed_node::{Command, Node};

use crate::error::Error;
use crate::observe::{apt_get, base, complaint};
use crate::params::Params;
use crate::plan::Change;

/// The locks that apt-get takes. Its own wait covers the first only.
const LOCKS: [&str; 4] = [
    "/var/lib/dpkg/lock-frontend",
    "/var/lib/dpkg/lock",
    "/var/lib/apt/lists/lock",
    "/var/cache/apt/archives/lock",
];

pub(crate) fn apply(change: &Change, params: &Params, node: &Node) -> Result<(), Error> {
    let left = wait(params, node)?;
    // somebody may have been faster since
    let patient = ["-o".to_owned(), format!("DPkg::Lock::Timeout={}", left.as_secs().max(1))];
    match change {
        Change::Repair { .. } => {
            let configure = Command::new("dpkg")
                .args(["--force-confdef", "--force-confold", "--configure", "-a"])
                .env("DEBIAN_FRONTEND", "noninteractive")
                .timeout(Duration::from_secs(3600));
            run("finish the interrupted dpkg", &configure, node)?;
            let fix = base().args(patient).args(["-q", "-y", "--fix-broken", "install"]);
            run("repair broken dependencies", &fix, node)
        }
        Change::Packages { what, packages, .. } => {
            run(what, &apt_get(params, packages).args(patient), node)
        }
    }
}

fn wait(params: &Params, node: &Node) -> Result<Duration, Error> {
    let deadline = Instant::now() + Duration::from_secs(params.lock_timeout);
    let left = || deadline.saturating_duration_since(Instant::now());
    for lock in LOCKS {
        node.wait_unlocked(lock, left())?;
    }
    Ok(left())
}

fn run(what: &str, command: &Command, node: &Node) -> Result<(), Error> {
    let output = node.run(command)?;
    if output.success() {
        return Ok(());
    }
    Err(Error::Apt {
        what: what.to_owned(),
        status: output.status,
        complaint: complaint(&output.stdout, &output.stderr),
    })
}
