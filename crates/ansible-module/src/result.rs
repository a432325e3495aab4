//! The one line that a run prints.

mod guard;
mod line;
mod scrub;

use serde_json::{Map, Value};

use crate::{Failure, Run};

pub(crate) use guard::{guard_returned, is_reserved};
pub(crate) use line::write_line;
pub(crate) use scrub::Scrubber;

/// The result of a success as it may be shown.
pub(crate) fn success(mut result: Map<String, Value>, run: &Run) -> Map<String, Value> {
    add_warnings(&mut result, run);
    finish(result, &Scrubber::new(&run.secrets()))
}

/// The result of a failure as it may be shown, with what had been done before it.
pub(crate) fn failure(failure: Failure, run: &Run) -> Map<String, Value> {
    let (message, extra) = failure.into_parts();
    let mut result = Map::new();
    for (key, value) in extra {
        if !is_reserved(&key) {
            result.insert(key, value);
        }
    }
    fail(&mut result, &message, run);
    add_warnings(&mut result, run);
    finish(result, &Scrubber::new(&run.secrets()))
}

/// The result of a panic as it may be shown. Without the secrets its text is not shown at all.
pub(crate) fn panic(message: &str, run: &Run) -> Map<String, Value> {
    let mut result = Map::new();
    match run.try_secrets() {
        Some(secrets) => {
            fail(&mut result, message, run);
            finish(result, &Scrubber::new(&secrets))
        }
        None => {
            result.insert("failed".into(), true.into());
            result.insert("changed".into(), false.into());
            result.insert("msg".into(), "internal error".into());
            result
        }
    }
}

fn fail(result: &mut Map<String, Value>, message: &str, run: &Run) {
    let message = if message.is_empty() { "the module failed without a reason" } else { message };
    let progress = run.progress();
    result.insert("failed".into(), true.into());
    result.insert("changed".into(), (!progress.done.is_empty()).into());
    result.insert("msg".into(), message.into());
    if !progress.done.is_empty() || !progress.left.is_empty() {
        result.insert("done".into(), progress.done.into());
        result.insert("left".into(), progress.left.into());
    }
}

fn add_warnings(result: &mut Map<String, Value>, run: &Run) {
    let warnings = run.warnings();
    if !warnings.is_empty() {
        result.insert("warnings".into(), warnings.into());
    }
}

fn finish(result: Map<String, Value>, scrubber: &Scrubber) -> Map<String, Value> {
    guard::guard_keys(scrubber.result(result))
}
