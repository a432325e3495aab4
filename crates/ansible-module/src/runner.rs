//! The order of a run, the same for every module.

use std::process::ExitCode;

use serde_json::{Map, Value, json};

use crate::{Failure, Module, Run};

/// Runs the module as Ansible does: one argument, the path of the arguments file.
#[must_use]
pub fn run<M: Module>() -> ExitCode {
    let run = Run::default();
    let (result, ok) = match attempt::<M>(&run) {
        Ok(result) => (result, true),
        Err(failure) => {
            let (message, mut extra) = failure.into_parts();
            extra.insert("failed".into(), true.into());
            extra.insert("msg".into(), message.into());
            (Value::Object(extra), false)
        }
    };
    println!("{result}");
    if ok { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn attempt<M: Module>(run: &Run) -> Result<Value, Failure> {
    let path = std::env::args().nth(1).ok_or_else(|| Failure::new("no arguments file given"))?;
    let text = std::fs::read_to_string(path)?;
    let mut arguments: Map<String, Value> = serde_json::from_str(&text)?;
    let check_mode = arguments.get("_ansible_check_mode").and_then(Value::as_bool).unwrap_or(false);
    arguments.retain(|key, _| !key.starts_with("_ansible_"));
    let params: M::Params = serde_json::from_value(Value::Object(arguments))?;
    M::check(&params)?;
    let mut target = M::connect(&params, run)?;
    let mut found = M::observe(&params, &mut target)?;
    let plan = M::plan(&params, &found)?;
    let lines: Vec<String> = plan.iter().map(ToString::to_string).collect();
    if !check_mode && !plan.is_empty() {
        for change in &plan {
            M::apply(change, &params, &mut target)?;
        }
        found = M::observe(&params, &mut target)?;
        let left: Vec<_> = M::plan(&params, &found)?.into_iter().filter(|c| !M::settled(c)).collect();
        if let Some(change) = left.first() {
            return Err(Failure::new(format!("did not converge: {change} is still to do")));
        }
    }
    let mut result = json!({"changed": !plan.is_empty(), "plan": lines});
    if let (Value::Object(result), Value::Object(more)) =
        (&mut result, serde_json::to_value(M::returned(&params, &found, &target))?)
    {
        result.extend(more);
    }
    let warnings = run.warnings();
    if !warnings.is_empty() {
        result["warnings"] = warnings.into();
    }
    let _ = run.secrets();
    Ok(result)
}
