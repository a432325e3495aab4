//! The whole: scripts that run `ansible-playbook` against the lab, and molecule's scenarios.

use std::os::unix::fs::PermissionsExt;
use std::process::Command;

use anyhow::Result;

use super::gate::Tally;
use crate::workspace::{Workspace, entries, file_name, program};

/// A test that hangs is ended after this many seconds, and has failed.
const LIMIT: &str = "1800";
/// The exit status of a script that cannot be run on this machine.
const CANNOT: i32 = 77;

/// Each executable script in `tests/e2e` is one test.
pub(super) fn end_to_end(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    for script in entries(&workspace.path("tests/e2e"))? {
        let executable = script
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        if !executable {
            continue;
        }
        let name = format!("e2e {}", file_name(&script));
        let mut command = limited(workspace);
        command.arg(&script);
        let ended = tally.run(&name, &mut command, &|_| ())?;
        match ended.status {
            0 => tally.pass(&name),
            // a machine without the means is told so, but what was not seen to work did not pass
            CANNOT => tally.fail(&name, &format!("it cannot be run here:\n{}", ended.tail())),
            124 => tally.fail(&name, &format!("ended after {LIMIT} s:\n{}", ended.tail())),
            _ => tally.fail(&name, &ended.tail()),
        }
    }
    Ok(())
}

/// All scenarios in one run, since they share what they are run on.
pub(super) fn molecule(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    if !workspace.path("tests/molecule").is_dir() {
        return Ok(());
    }
    if program("molecule").is_none() {
        tally.fail("molecule", "it is not installed");
        return Ok(());
    }
    let mut command = limited(workspace);
    command.args(["molecule", "test", "--all"]);
    command.env("ANSIBLE_NOCOLOR", "1");
    tally.gate("molecule", &mut command)?;
    Ok(())
}

fn limited(workspace: &Workspace) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=60", LIMIT]).current_dir(&workspace.root);
    command
}
