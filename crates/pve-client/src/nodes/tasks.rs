//! `/nodes/{node}/tasks`: asynchronous work, followed to its end.

use std::time::Duration;

use pve_types::Upid;
use serde::Deserialize;
use tokio::time::{Instant, sleep};

use crate::classify;
use crate::client::Client;
use crate::error::{Error, TaskError};
use crate::form::{Form, path};
use crate::nodes::Node;

/// The first pause between two looks: most tasks take some tens of milliseconds.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// How many lines of a failed task's log are told.
const LOG_TAIL: u64 = 8;

/// Where a task stands.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct TaskStatus {
    /// `running` or `stopped`.
    pub status: String,
    /// What it ended with: `OK`, `WARNINGS: n` or an error.
    #[serde(default)]
    pub exitstatus: Option<String>,
}

/// A task that ended well.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskOutcome {
    /// What it warned of.
    pub warnings: Vec<String>,
}

#[derive(Deserialize)]
struct LogLine {
    #[serde(default)]
    t: String,
}

impl Client {
    /// Where a task stands.
    ///
    /// # Errors
    /// As every call.
    pub async fn task_status(&self, upid: &Upid) -> Result<TaskStatus, Error> {
        self.get(&task_path(upid, "status"), &Form::new()).await
    }

    /// The last lines of a task's log.
    ///
    /// # Errors
    /// As every call.
    pub async fn task_log(&self, upid: &Upid, last: u64) -> Result<Vec<String>, Error> {
        let place = task_path(upid, "log");
        let head = Form::new().number("start", 0_u64).number("limit", 500_u64);
        let mut answer = self.read(&place, &head).await?;
        if let Some(total) = answer.total.filter(|total| *total > 500) {
            let tail =
                Form::new().number("start", total.saturating_sub(last)).number("limit", last);
            answer = self.read(&place, &tail).await?;
        }
        let lines: Vec<LogLine> = serde_json::from_value(answer.data).unwrap_or_default();
        let texts: Vec<String> = lines.into_iter().map(|line| line.t).collect();
        let from = texts.len().saturating_sub(usize::try_from(last).unwrap_or(usize::MAX));
        Ok(texts[from..].to_vec())
    }

    /// Waits for a task's end: good, with warnings, or an error that carries its exit status and
    /// the last lines of its log. Trouble on the way is waited out, since the task goes on.
    ///
    /// # Errors
    /// [`Error::Task`] when the task failed or was not done within `timeout`.
    pub async fn wait(&self, upid: &Upid, timeout: Duration) -> Result<TaskOutcome, Error> {
        let started = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            let exit = match self.task_status(upid).await {
                Ok(TaskStatus { status, exitstatus }) if status != "running" => {
                    Some(exitstatus.unwrap_or_else(|| "unexpected end".to_owned()))
                }
                Ok(_) => None,
                Err(error) if error.is_transport() && started.elapsed() < timeout => None,
                Err(error) => return Err(error),
            };
            if let Some(exit) = exit {
                return self.ended(upid, exit, started.elapsed()).await;
            }
            let left = timeout.saturating_sub(started.elapsed());
            if left.is_zero() {
                return Err(self.task_error(upid, None, timeout).await);
            }
            sleep(pause.min(left)).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// Waits for a task that tells in its log how far it is, as long as it goes on: only a log that
    /// stands still for `stall` ends the wait, and then the task is stopped.
    ///
    /// # Errors
    /// [`Error::Task`] when the task failed or stood still.
    pub async fn wait_while_moving(
        &self,
        upid: &Upid,
        stall: Duration,
    ) -> Result<TaskOutcome, Error> {
        let mut seen = None;
        let mut since = Instant::now();
        let mut pause = FIRST_PAUSE;
        loop {
            match self.task_status(upid).await {
                Ok(TaskStatus { status, exitstatus }) if status != "running" => {
                    let exit = exitstatus.unwrap_or_else(|| "unexpected end".to_owned());
                    return self.ended(upid, exit, since.elapsed()).await;
                }
                Ok(_) => {}
                Err(error) if error.is_transport() && since.elapsed() < stall => {}
                Err(error) => return Err(error),
            }
            let log = Form::new().number("start", 0_u64).number("limit", 1_u64);
            let lines = self.read(&task_path(upid, "log"), &log).await.ok();
            if let Some(total) = lines.and_then(|answer| answer.total).filter(|t| seen < Some(*t)) {
                (seen, since) = (Some(total), Instant::now());
            }
            if since.elapsed() >= stall {
                let error = self.task_error(upid, None, since.elapsed()).await;
                // nothing is to come of it later, when nobody expects it any more
                self.stop_task(upid).await.ok();
                return Err(error);
            }
            sleep(pause.min(stall)).await;
            pause = (pause * 3 / 2).min(LONGEST_PAUSE);
        }
    }

    /// Stops a task.
    ///
    /// # Errors
    /// As every call.
    pub async fn stop_task(&self, upid: &Upid) -> Result<(), Error> {
        let place = path(&["nodes", upid.node.as_str(), "tasks", &upid.to_string()]);
        let _: serde_json::Value = self.remove(&place, &Form::new()).await?;
        Ok(())
    }

    async fn ended(
        &self,
        upid: &Upid,
        exit: String,
        waited: Duration,
    ) -> Result<TaskOutcome, Error> {
        if exit == "OK" {
            return Ok(TaskOutcome::default());
        }
        if exit.starts_with("WARNINGS:") {
            // the log is a courtesy; the task has succeeded without it
            let log = self.task_log(upid, 500).await.unwrap_or_default();
            let mut warnings: Vec<String> = log.iter().filter_map(|line| warning(line)).collect();
            if warnings.is_empty() {
                warnings.push(format!("task {} on {} ended with {exit}", upid.kind, upid.node));
            }
            return Ok(TaskOutcome { warnings });
        }
        Err(self.task_error(upid, Some(exit), waited).await)
    }

    async fn task_error(&self, upid: &Upid, exit: Option<String>, waited: Duration) -> Error {
        let log = self.task_log(upid, LOG_TAIL).await.unwrap_or_default();
        let kind = exit.as_deref().map_or(classify::Kind::Other, classify::exit);
        Error::Task(Box::new(TaskError {
            upid: upid.clone(),
            exit,
            log,
            kind,
            waited: waited.as_secs(),
        }))
    }
}

impl Node<'_> {
    /// The tasks of one type that are under way on this node, as far as the caller may see them.
    ///
    /// # Errors
    /// As every call.
    pub async fn running_tasks(self, kind: &str) -> Result<Vec<Upid>, Error> {
        #[derive(Deserialize)]
        struct Row {
            upid: Upid,
        }
        let query = Form::new().text("source", "active").text("typefilter", kind);
        let query = query.number("limit", 500_u64);
        let rows: Vec<Row> = self.client.get(&self.path(&["tasks"]), &query).await?;
        Ok(rows.into_iter().map(|row| row.upid).collect())
    }
}

fn task_path(upid: &Upid, what: &str) -> String {
    path(&["nodes", upid.node.as_str(), "tasks", &upid.to_string(), what])
}

/// PVE::RESTEnvironment::warn writes `WARN: text`; perl's own come as `warning: text`.
fn warning(line: &str) -> Option<String> {
    let (mark, text) = line.split_once(':')?;
    matches!(mark.trim().to_ascii_lowercase().as_str(), "warn" | "warning")
        .then(|| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warnings_are_told_from_other_lines() {
        for (line, text) in [
            ("WARN: no efidisk configured!", Some("no efidisk configured!")),
            ("warning: foo: bar", Some("foo: bar")),
            ("TASK WARNINGS: 1", None),
            ("transferred 3 MiB", None),
        ] {
            assert_eq!(warning(line).as_deref(), text, "{line}");
        }
    }
}
