//! `/nodes/{node}/tasks`.

use serde_json::{Value, json};

use super::super::call::{Call, NOTHING, Route};
use super::super::cluster::task_row;
use super::super::error::{ApiError, ApiResult};
use crate::state::tasks::{Task, is_upid};

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes/{node}/tasks", list),
    ("GET", "/nodes/{node}/tasks/{upid}/status", status),
    ("GET", "/nodes/{node}/tasks/{upid}/log", log),
    ("DELETE", "/nodes/{node}/tasks/{upid}", stop),
];

fn full_row(task: &Task) -> Value {
    let mut row = task_row(task);
    row["pid"] = json!(task.pid);
    row["pstart"] = json!(task.pstart);
    row
}

fn list(call: Call) -> ApiResult {
    let start = usize::try_from(call.params.number("start").unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(call.params.number("limit").unwrap_or(50)).unwrap_or(50);
    let audits = call.allows(&format!("/nodes/{}", call.node()), "Sys.Audit");
    let state = call.state();
    let source = call.params.get("source").unwrap_or("archive");
    let vmid = call.params.get("vmid");
    let kind = call.params.get("typefilter");
    let errors = call.params.flag("errors");
    let fits = |task: &&Task| {
        let ended = task.exitstatus.is_some();
        task.node == call.node()
            && (audits || task.user == call.who.user)
            && match source {
                "active" => !ended,
                "archive" => ended,
                _ => true,
            }
            && vmid.is_none_or(|vmid| task.id == vmid)
            && kind.is_none_or(|kind| task.kind == kind)
            && (!errors || task.exitstatus.as_deref().is_some_and(|status| status != "OK"))
    };
    let rows: Vec<&Task> = state.tasks.list.iter().rev().filter(fits).collect();
    call.set_total(rows.len());
    Ok(rows
        .into_iter()
        .skip(start)
        .take(limit)
        .map(|task| {
            let mut row = full_row(task);
            if task.exitstatus.is_none() {
                row["status"] = json!("RUNNING");
            }
            row
        })
        .collect())
}

/// The task of a UPID, which the caller must be allowed to see.
fn find(call: &Call) -> Result<Task, ApiError> {
    let upid = call.params.text("upid");
    if !is_upid(upid) {
        return Err(ApiError::param("upid", "unable to parse worker upid"));
    }
    let task = call.state().tasks.get(upid).cloned();
    let task = task.ok_or_else(|| ApiError::param("upid", "no such task"))?;
    if task.user != call.who.user {
        call.require(&format!("/nodes/{}", call.node()), "Sys.Audit")?;
    }
    Ok(task)
}

fn status(call: Call) -> ApiResult {
    let task = find(&call)?;
    let mut row = full_row(&task);
    if let Some(map) = row.as_object_mut() {
        map.shift_remove("endtime");
    }
    match &task.exitstatus {
        Some(exit) => {
            row["status"] = json!("stopped");
            row["exitstatus"] = json!(exit);
        }
        None => row["status"] = json!("running"),
    }
    Ok(row)
}

fn log(call: Call) -> ApiResult {
    let task = find(&call)?;
    let start = usize::try_from(call.params.number("start").unwrap_or(0)).unwrap_or(0);
    let limit = usize::try_from(call.params.number("limit").unwrap_or(50)).unwrap_or(50);
    let limit = if limit == 0 { usize::MAX } else { limit };
    call.set_total(task.log.len());
    Ok(task
        .log
        .iter()
        .enumerate()
        .skip(start)
        .take(limit)
        .map(|(index, line)| json!({"n": index + 1, "t": line}))
        .collect())
}

fn stop(call: Call) -> ApiResult {
    let task = find(&call)?;
    if task.user != call.who.user {
        call.require(&format!("/nodes/{}", call.node()), "Sys.Modify")?;
    }
    // only those that wait for others ask; the rest are too short to be stopped
    call.state().tasks.interrupt(&task.upid);
    NOTHING
}
