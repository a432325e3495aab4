//! The command line of a module: what Ansible calls, and what a person may ask.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::process::ExitCode;

use serde_json::{Map, Value};

use crate::arguments::Request;
use crate::runner::{Asked, attempt, params};
use crate::{Failure, Module, Run, describe, result};

/// Runs the module as Ansible does: one argument, the path of the arguments file. Whatever happens,
/// one line of JSON is printed.
#[must_use]
pub fn run<M: Module>() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(|word| word.to_str().unwrap_or_default()).collect();
    match words.as_slice() {
        [] => {
            print(&describe::help::<M>());
            ExitCode::FAILURE
        }
        ["--help" | "-h"] => print(&describe::help::<M>()),
        ["--version"] => print(&format!("{} {}", M::META.name, env!("CARGO_PKG_VERSION"))),
        ["--describe"] => print(&describe::describe::<M>().to_string()),
        ["--validate", _] => as_module(&arguments[1..], |asked, run| {
            params::<M>(asked, run)?;
            let mut result = Map::new();
            result.insert("changed".into(), false.into());
            Ok(result)
        }),
        _ => as_module(&arguments, attempt::<M>),
    }
}

/// What is done with the options.
type Work = fn(Asked, &Run) -> Result<Map<String, Value>, Failure>;

fn as_module(arguments: &[OsString], work: Work) -> ExitCode {
    let mut run = Run::default();
    report_panics(&run);
    let outcome = read(arguments).and_then(|asked| {
        let asked = circumstances(asked, &mut run);
        work(asked, &run)
    });
    let (line, ok) = match outcome {
        Ok(line) => (result::success(line, &run), true),
        Err(failure) => (result::failure(failure, &run), false),
    };
    let written = result::write_line(std::io::stdout().lock(), line);
    if ok && written { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A panic ends in a JSON failure like any other. It is printed from the hook itself because shipped
/// builds abort right after it.
fn report_panics(run: &Run) {
    let run = run.clone();
    std::panic::set_hook(Box::new(move |info| {
        let payload = info.payload();
        let text = payload
            .downcast_ref::<&str>()
            .copied()
            .or_else(|| payload.downcast_ref::<String>().map(String::as_str))
            .unwrap_or("no reason given");
        let place = info
            .location()
            .map(|place| format!(" ({}:{})", place.file(), place.line()))
            .unwrap_or_default();
        let message = format!("internal error: {text}{place}; this is a bug of the module");
        result::write_line(std::io::stdout(), result::panic(&message, &run));
        std::process::exit(1);
    }));
}

fn read(arguments: &[OsString]) -> Result<Map<String, Value>, Failure> {
    let [path] = arguments else {
        return Err(Failure::new(format!(
            "expected one argument, the path of the arguments file, and got {}",
            arguments.len()
        )));
    };
    let shown = path.to_string_lossy();
    let content = content(path)
        .map_err(|error| Failure::from(error).context(&format!("cannot read {shown}")))?;
    // the error's own text names a line and a column, and never what stands there
    parsed(&content, &shown)
}

/// Reads the content of an arguments file as far as it needs no node: what `--validate` does. `Err`
/// is the message that the module would fail with.
///
/// # Errors
/// What is wrong with it.
pub fn check_arguments<M: Module>(content: &[u8]) -> Result<(), String> {
    let mut run = Run::default();
    let outcome = parsed(content, "the arguments file").and_then(|arguments| {
        let asked = circumstances(arguments, &mut run);
        params::<M>(asked, &run)
    });
    outcome.map(drop).map_err(|failure| {
        let line = result::failure(failure, &run);
        line.get("msg").and_then(Value::as_str).unwrap_or_default().to_owned()
    })
}

fn parsed(content: &[u8], shown: &str) -> Result<Map<String, Value>, Failure> {
    let value: Value = serde_json::from_slice(content)
        .map_err(|error| Failure::from(error).context(&format!("{shown} is not JSON")))?;
    match value {
        Value::Object(arguments) => Ok(arguments),
        _ => Err(Failure::new(format!("{shown} does not hold a JSON object"))),
    }
}

fn content(path: &OsStr) -> std::io::Result<Vec<u8>> {
    if path == "-" || path == "/dev/stdin" {
        let mut content = Vec::new();
        std::io::stdin().lock().read_to_end(&mut content)?;
        return Ok(content);
    }
    std::fs::read(path)
}

/// Takes Ansible's own keys out of the arguments.
fn circumstances(mut arguments: Map<String, Value>, run: &mut Run) -> Asked {
    let truth = |key: &str| match arguments.get(key) {
        Some(Value::Bool(truth)) => *truth,
        Some(Value::String(word)) => word.eq_ignore_ascii_case("true") || word == "1",
        Some(Value::Number(number)) => number.as_u64() == Some(1),
        _ => false,
    };
    run.check_mode = truth("_ansible_check_mode");
    run.diff = truth("_ansible_diff");
    let verbosity = arguments.get("_ansible_verbosity").and_then(Value::as_u64).unwrap_or(0);
    run.verbosity = u8::try_from(verbosity).unwrap_or(u8::MAX);
    let text = |key: &str| arguments.get(key).and_then(Value::as_str).unwrap_or_default();
    let request = Request {
        module: text("_ansible_module_name").to_owned(),
        ignore_unknown: truth("_ansible_ignore_unknown_opts"),
        old_templates: before_2_19(text("_ansible_version")),
    };
    arguments.retain(|key, _| !key.starts_with("_ansible_"));
    Asked { request, options: arguments }
}

fn before_2_19(version: &str) -> bool {
    let mut parts = version.split('.').map(|part| part.parse::<u32>().ok());
    matches!((parts.next().flatten(), parts.next().flatten()), (Some(2), Some(minor)) if minor < 19)
}

/// Prints for a person. One who closed the pipe has seen enough.
fn print(text: &str) -> ExitCode {
    let mut out = std::io::stdout().lock();
    let _ = writeln!(out, "{text}").and_then(|()| out.flush());
    ExitCode::SUCCESS
}
