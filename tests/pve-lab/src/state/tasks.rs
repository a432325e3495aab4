//! Tasks: work that goes on after the call, known by its UPID.

use serde::{Deserialize, Serialize};

use super::access::Identity;

/// A task, running or ended.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Task {
    pub(crate) upid: String,
    pub(crate) node: String,
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) id: String,
    pub(crate) user: String,
    pub(crate) token: Option<String>,
    pub(crate) pid: u32,
    pub(crate) pstart: u64,
    pub(crate) starttime: u64,
    pub(crate) endtime: Option<u64>,
    /// `OK`, `WARNINGS: n` or the error; nothing while it runs.
    pub(crate) exitstatus: Option<String>,
    pub(crate) log: Vec<String>,
    /// Whether it was told to stop.
    #[serde(skip)]
    pub(crate) interrupted: bool,
}

/// All tasks, oldest first.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    pub(crate) list: Vec<Task>,
    pub(crate) last_pid: u32,
}

impl Tasks {
    /// A new task, begun now; ticks are hundredths of a second since the node booted.
    pub(crate) fn begin(
        &mut self,
        node: &str,
        kind: &str,
        id: &str,
        who: &Identity,
        (now, ticks): (u64, u64),
    ) -> String {
        self.last_pid += 11;
        let pid = self.last_pid;
        let escaped = id.replace(':', "\\x3a");
        let upid =
            format!("UPID:{node}:{pid:08X}:{ticks:08X}:{now:08X}:{kind}:{escaped}:{}:", who.full());
        self.list.push(Task {
            upid: upid.clone(),
            node: node.to_owned(),
            kind: kind.to_owned(),
            id: id.to_owned(),
            user: who.user.clone(),
            token: who.token.clone(),
            pid,
            pstart: ticks,
            starttime: now,
            endtime: None,
            exitstatus: None,
            log: Vec::new(),
            interrupted: false,
        });
        upid
    }

    /// A task by its UPID.
    pub(crate) fn get(&self, upid: &str) -> Option<&Task> {
        self.list.iter().rev().find(|task| task.upid == upid)
    }

    /// Tells a task to stop, which it does when it next asks.
    pub(crate) fn interrupt(&mut self, upid: &str) {
        if let Some(task) = self.list.iter_mut().rev().find(|task| task.upid == upid) {
            task.interrupted = true;
        }
    }

    /// Adds a line to a task's log.
    pub(crate) fn log(&mut self, upid: &str, line: &str) {
        if let Some(task) = self.list.iter_mut().rev().find(|task| task.upid == upid) {
            task.log.extend(line.split('\n').map(str::to_owned));
        }
    }

    /// Ends a task; returns it for the record.
    pub(crate) fn end(&mut self, upid: &str, status: &str, now: u64) -> Option<Task> {
        let task = self.list.iter_mut().rev().find(|task| task.upid == upid)?;
        task.log.push(match status {
            "OK" => "TASK OK".to_owned(),
            other if other.starts_with("WARNINGS: ") => format!("TASK {other}"),
            other => format!("TASK ERROR: {other}"),
        });
        task.exitstatus = Some(status.to_owned());
        task.endtime = Some(now);
        Some(task.clone())
    }
}

/// Whether a text has the form of a UPID.
pub(crate) fn is_upid(text: &str) -> bool {
    let parts: Vec<&str> = text.split(':').collect();
    parts.len() == 9
        && parts[0] == "UPID"
        && !parts[1].is_empty()
        && parts[2..5].iter().all(|p| p.len() >= 8 && p.bytes().all(|b| b.is_ascii_hexdigit()))
}
