//! Options as `ansible-doc` wants them, and as an argument spec.

use serde_json::{Map, Value, json};

use super::prose::paragraphs;
use crate::spec::{Choice, Kind, Opt, Shape, Spec};

/// The `options` of a documentation.
pub(super) fn documentation(spec: &Spec) -> Value {
    Value::Object(
        spec.options.iter().map(|option| (option.name.clone(), documented(option))).collect(),
    )
}

/// The `options` of an argument spec.
pub(super) fn argument_spec(spec: &Spec) -> Value {
    let entry = |option: &Opt| {
        let mut entry = facts(option);
        if !option.env.is_empty() {
            entry.insert("fallback".into(), json!(["env", option.env]));
        }
        if option.shape.no_log {
            entry.insert("no_log".into(), true.into());
        }
        if let Some((inner, _)) = suboptions(&option.shape) {
            entry.insert("options".into(), argument_spec(inner));
        }
        (option.name.clone(), Value::Object(entry))
    };
    Value::Object(spec.options.iter().map(entry).collect())
}

fn documented(option: &Opt) -> Value {
    let mut description = paragraphs(&option.description);
    for choice in choices(&option.shape) {
        let text = paragraphs(&choice.description).join(" ");
        if !text.is_empty() {
            description.push(format!("C({}): {text}", shown(&choice.value)));
        }
    }
    match option.env.as_slice() {
        [] => {}
        [name] => {
            description.push(format!("Without it the environment variable C({name}) is used."));
        }
        names => {
            let names: Vec<String> = names.iter().map(|name| format!("C({name})")).collect();
            description.push(format!(
                "Without it the first of these environment variables that is set is used: {}.",
                names.join(", ")
            ));
        }
    }
    let suboptions = suboptions(&option.shape);
    if suboptions.is_some_and(|(_, named)| named) {
        description.push("The keys are names; each value has these suboptions.".to_owned());
    }
    let mut entry = Map::new();
    entry.insert("description".into(), description.into());
    entry.extend(facts(option));
    if let Some((inner, _)) = suboptions {
        entry.insert("suboptions".into(), documentation(inner));
    }
    Value::Object(entry)
}

/// What documentation and argument spec have in common.
fn facts(option: &Opt) -> Map<String, Value> {
    let mut entry = Map::new();
    entry.insert("type".into(), option.shape.type_name().into());
    if let Kind::List(item) = &option.shape.kind {
        entry.insert("elements".into(), item.type_name().into());
    }
    if option.required {
        entry.insert("required".into(), true.into());
    }
    if let Some(default) = &option.default {
        entry.insert("default".into(), default.clone());
    }
    let choices = choices(&option.shape);
    if !choices.is_empty() {
        entry.insert("choices".into(), choices.iter().map(|choice| choice.value.clone()).collect());
    }
    if !option.aliases.is_empty() {
        entry.insert("aliases".into(), option.aliases.clone().into());
    }
    entry
}

fn choices(shape: &Shape) -> &[Choice] {
    match &shape.kind {
        Kind::Choice(choices) => choices,
        Kind::List(item) => choices(item),
        _ => &[],
    }
}

/// The options inside, and whether they stand under names of the user's choice.
fn suboptions(shape: &Shape) -> Option<(&Spec, bool)> {
    match &shape.kind {
        Kind::Dict(spec) if !spec.options.is_empty() => Some((spec, false)),
        Kind::Dict(spec) => match &spec.rest.as_deref()?.kind {
            Kind::Dict(inner) if !inner.options.is_empty() => Some((inner, true)),
            _ => None,
        },
        Kind::List(item) => suboptions(item),
        _ => None,
    }
}

fn shown(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
