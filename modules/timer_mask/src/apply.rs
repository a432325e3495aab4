//! Does one step.

use std::path::Path;
use std::time::Duration;

use ansible_module::Failure;
use managed_node::{Command, Node};

use crate::observe::Target;
use crate::params::Params;
use crate::plan::Change;
use crate::record::{self, Phase, Record};
use crate::units::ADMIN;

pub(crate) fn apply(change: &Change, params: &Params, target: &mut Target) -> Result<(), Failure> {
    let node = &target.node;
    match change {
        Change::Remember { timer, record } => record::write(node, timer, record),
        Change::StopTimer { timer } => systemctl(node, &["stop", "--", timer], None),
        Change::RemoveLink { link, .. } => {
            node.remove(&link.path)?;
            Ok(())
        }
        Change::Mask { timer } => {
            node.make_folder(ADMIN, 0o755)?;
            node.link(format!("{ADMIN}/{timer}"), "/dev/null")?;
            if let Some(record) = record::read(node, timer)? {
                record::write(node, timer, &Record { phase: Phase::Masked, ..record })?;
            }
            Ok(())
        }
        Change::Unmask { path, .. } => {
            node.remove(path)?;
            Ok(())
        }
        Change::RestoreLink { link, .. } => {
            if let Some(folder) = Path::new(&link.path).parent() {
                node.make_folder(folder, 0o755)?;
            }
            Ok(node.link(&link.path, &link.target)?)
        }
        Change::Reload => systemctl(node, &["daemon-reload"], None),
        Change::ResetFailed { unit } => systemctl(node, &["reset-failed", "--", unit], None),
        Change::StopService { service, .. } => {
            let limit = Duration::from_secs(params.wait_timeout.max(1));
            systemctl(node, &["stop", "--", service], Some(limit))?;
            // a job that does not end well when it is told to stop is no fault of the node
            let failed = Command::new("systemctl").args(["is-failed", "--quiet", "--", service]);
            if node.run(&failed)?.success() {
                systemctl(node, &["reset-failed", "--", service], None)?;
            }
            Ok(())
        }
        Change::StartTimer { timer } => systemctl(node, &["start", "--", timer], None),
        Change::Forget { timer } => record::remove(node, timer),
    }
}

fn systemctl(node: &Node, args: &[&str], limit: Option<Duration>) -> Result<(), Failure> {
    let mut command = Command::new("systemctl").args(args.iter().copied());
    if let Some(limit) = limit {
        command = command.timeout(limit);
    }
    node.run(&command)?.check(&command)?;
    Ok(())
}
