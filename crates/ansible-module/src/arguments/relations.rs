//! Options that exclude or need each other.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::messages::plain;
use crate::Meta;
use crate::spec::Spec;

/// What is wrong between the options. Those taken from the environment never exclude anything.
pub(crate) fn check(
    spec: &Spec,
    meta: &Meta,
    options: &Map<String, Value>,
    from_environment: &BTreeSet<String>,
) -> Vec<String> {
    let given = |name: &&&str| options.contains_key(**name);
    let mut errors = Vec::new();
    let exclusive: Vec<String> = meta
        .mutually_exclusive
        .iter()
        .filter(|group| {
            let by_task =
                group.iter().filter(given).filter(|name| !from_environment.contains(**name));
            by_task.count() > 1
        })
        .map(|group| group.join("|"))
        .collect();
    if !exclusive.is_empty() {
        errors.push(format!("parameters are mutually exclusive: {}", exclusive.join(", ")));
    }
    for group in meta.required_together {
        let count = group.iter().filter(given).count();
        if count > 0 && count < group.len() {
            errors.push(format!("parameters are required together: {}", group.join(", ")));
        }
    }
    for group in meta.required_one_of {
        if group.iter().filter(given).count() == 0 {
            errors.push(format!("one of the following is required: {}", group.join(", ")));
        }
    }
    for relation in meta.required_if {
        let default = || spec.find(relation.option).and_then(|option| option.default.as_ref());
        let value = options.get(relation.option).or_else(default);
        if value.map(plain).as_deref() != Some(relation.value) {
            continue;
        }
        let missing: Vec<&str> =
            relation.needs.iter().filter(|name| !given(name)).copied().collect();
        let enough =
            if relation.any { missing.len() < relation.needs.len() } else { missing.is_empty() };
        if !enough {
            errors.push(format!(
                "{} is {} but {} of the following are missing: {}",
                relation.option,
                relation.value,
                if relation.any { "any" } else { "all" },
                missing.join(", ")
            ));
        }
    }
    errors
}
