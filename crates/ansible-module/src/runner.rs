//! The order of a run, the same for every module: observe, plan, apply, observe again.

use serde_json::{Map, Value, json};

use crate::arguments::{Request, decode, validate};
use crate::result::guard_returned;
use crate::spec::Spec;
use crate::{Diff, Failure, Module, Run};

/// What the arguments file asks for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Asked {
    pub(crate) request: Request,
    pub(crate) options: Map<String, Value>,
}

/// The module's options, or what is wrong with them.
pub(crate) fn params<M: Module>(mut asked: Asked, run: &Run) -> Result<M::Params, Failure> {
    if asked.request.module.is_empty() {
        asked.request.module = M::META.name.to_owned();
    }
    let spec = Spec::of::<M::Params>();
    let env = |name: &str| std::env::var(name).ok();
    let options = validate(&spec, &M::META, &asked.request, asked.options, &env, run)?;
    let params = decode(options)?;
    M::check(&params)?;
    Ok(params)
}

/// Runs the module. What had been done before a failure is in `run`.
pub(crate) fn attempt<M: Module>(asked: Asked, run: &Run) -> Result<Map<String, Value>, Failure> {
    let params = params::<M>(asked, run)?;
    let mut target = M::connect(&params, run)?;
    let mut before: Option<Vec<String>> = None;
    let mut perhaps_done: Option<String> = None;
    let (found, lines, diff) = loop {
        let found = M::observe(&params, &mut target)?;
        let plan = M::plan(&params, &found)?;
        let lines: Vec<String> = plan.iter().map(ToString::to_string).collect();
        if let Some(before) = &before {
            warn_of_new_plan(before, &lines, run);
        }
        if let Some(step) = perhaps_done.take().filter(|step| !lines.contains(step)) {
            run.was_done(step);
        }
        let diff = if run.diff { diff(M::diff(&params, &found, &plan), &lines) } else { None };
        if run.check_mode || plan.is_empty() {
            run.start(&[]);
            break (found, lines, diff);
        }
        run.start(&lines);
        match apply::<M>(&plan, &lines, &params, &mut target, run) {
            Ok(()) => break (converged::<M>(&params, &mut target, run)?, lines, diff),
            Err(failure) if failure.is_stale() && before.is_none() => {
                let left = run.progress().left;
                perhaps_done = left.first().filter(|_| failure.is_perhaps_done()).cloned();
                before = Some(left);
            }
            Err(failure) => return Err(failure),
        }
    };
    let plan = if run.check_mode { lines } else { run.progress().done };
    let mut result = Map::new();
    result.insert("changed".into(), (!plan.is_empty()).into());
    result.insert("plan".into(), plan.into());
    if let Some(diff) = diff {
        result.insert("diff".into(), diff);
    }
    let returned = serde_json::to_value(M::returned(&params, &found, &target))?;
    if let Value::Object(returned) = returned {
        result.extend(guard_returned(returned));
    }
    Ok(result)
}

fn apply<M: Module>(
    plan: &[M::Change],
    lines: &[String],
    params: &M::Params,
    target: &mut M::Target,
    run: &Run,
) -> Result<(), Failure> {
    for (change, line) in plan.iter().zip(lines) {
        M::apply(change, params, target).map_err(|failure| {
            if failure.message().starts_with("failed to ") {
                failure
            } else {
                failure.context(&format!("failed to {line}"))
            }
        })?;
        run.step_done();
    }
    Ok(())
}

/// Looks again after everything was done. A plan that is still not empty is a failure, so that every
/// run tests that the next one would change nothing.
fn converged<M: Module>(
    params: &M::Params,
    target: &mut M::Target,
    run: &Run,
) -> Result<M::Found, Failure> {
    let found = M::observe(params, target).map_err(|failure| {
        failure.context("failed to look at the result after all changes were made")
    })?;
    let plan = M::plan(params, &found)?;
    let left: Vec<String> =
        plan.iter().filter(|change| !M::settled(change)).map(ToString::to_string).collect();
    if left.is_empty() {
        return Ok(found);
    }
    run.start(&left);
    Err(Failure::new(format!(
        "did not converge: after all changes were made there is still to do: {}",
        left.join("; ")
    )))
}

fn warn_of_new_plan(before: &[String], now: &[String], run: &Run) {
    let outcome = if now == before {
        "the plan is still the same".to_owned()
    } else if now.is_empty() {
        "nothing is left to do".to_owned()
    } else {
        format!("the plan is now: {}", now.join("; "))
    };
    run.warn(format!(
        "the state changed while it was being worked on; it was read anew, {outcome}"
    ));
}

fn diff(mut diffs: Vec<Diff>, lines: &[String]) -> Option<Value> {
    for diff in &mut diffs {
        for text in [&mut diff.before, &mut diff.after] {
            if !text.is_empty() && !text.ends_with('\n') {
                text.push('\n');
            }
        }
    }
    if !diffs.is_empty() {
        return serde_json::to_value(diffs).ok();
    }
    if lines.is_empty() {
        return None;
    }
    Some(json!({"prepared": lines.join("\n") + "\n"}))
}
