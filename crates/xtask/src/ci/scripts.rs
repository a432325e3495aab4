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

/// The name of the run of molecule.
const MOLECULE: &str = "molecule";

/// Each executable script in `tests/e2e` is one test; all of molecule's scenarios are one, since they
/// share what they are run on, and they begin first, since they take longest.
pub(super) fn whole(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    let mut programs = Vec::new();
    if program(MOLECULE).is_some() {
        let mut command = limited(workspace);
        command.args([MOLECULE, "test", "--all"]).env("ANSIBLE_NOCOLOR", "1");
        programs.push((MOLECULE.to_owned(), command));
    } else {
        tally.fail(MOLECULE, "it is not installed");
    }
    for script in entries(&workspace.path("tests/e2e"))? {
        let executable = script
            .metadata()
            .is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0);
        if executable {
            let mut command = limited(workspace);
            command.arg(&script);
            programs.push((format!("e2e {}", file_name(&script)), command));
        }
    }
    tally.run_beside(programs, |tally, name, ended| {
        let ended = match ended {
            Ok(ended) => ended,
            Err(error) => return tally.fail(&name, &format!("{error:#}")),
        };
        match ended.status {
            0 => tally.pass(&format!("{name} in {:.1} s", ended.took.as_secs_f64())),
            // a machine without the means is told so, but what was not seen to work did not pass
            CANNOT => tally.fail(&name, &format!("it cannot be run here:\n{}", ended.tail())),
            124 => tally.fail(&name, &format!("ended after {LIMIT} s:\n{}", ended.tail())),
            _ => tally.fail(&name, &ended.tail()),
        }
    });
    Ok(())
}

fn limited(workspace: &Workspace) -> Command {
    let mut command = Command::new("timeout");
    command.args(["--kill-after=60", LIMIT]).current_dir(&workspace.root);
    command
}
