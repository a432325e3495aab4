//! Finds the secrets among the options, before and after they are understood.

use serde_json::{Map, Value};

use super::{coerce, literal};
use crate::Run;
use crate::spec::{Kind, Shape, Spec};

/// Keeps every secret value out of the result.
pub(crate) fn hide(spec: &Spec, arguments: &Map<String, Value>, run: &Run) {
    for (name, value) in arguments {
        let shape = spec.find(name).map(|option| &option.shape).or(spec.rest.as_deref());
        if let Some(shape) = shape {
            look(shape, value, run);
        }
    }
}

fn look(shape: &Shape, value: &Value, run: &Run) {
    if shape.no_log {
        return hide_leaves(value, run);
    }
    if !shape.holds_secret() {
        return;
    }
    match (&shape.kind, value) {
        (Kind::Dict(spec), Value::Object(entries)) => hide(spec, entries, run),
        (Kind::Dict(spec), Value::String(_)) => match coerce::dict(value) {
            Ok(Value::Object(entries)) => hide(spec, &entries, run),
            // not understood, so any part of it may be the secret
            _ => hide_leaves(value, run),
        },
        (Kind::List(item), Value::Array(items)) => {
            items.iter().for_each(|value| look(item, value, run));
        }
        (Kind::List(item), Value::String(text)) => match literal::parse(text) {
            Some(Value::Array(items)) => items.iter().for_each(|value| look(item, value, run)),
            _ => text.split(',').for_each(|part| look(item, &part.trim().into(), run)),
        },
        (Kind::List(item), value) => look(item, value, run),
        (Kind::OneOf(shapes), value) => shapes.iter().for_each(|shape| look(shape, value, run)),
        _ => {}
    }
}

fn hide_leaves(value: &Value, run: &Run) {
    match value {
        Value::String(text) => run.hide(text),
        Value::Number(number) => run.hide(&number.to_string()),
        Value::Array(items) => items.iter().for_each(|value| hide_leaves(value, run)),
        Value::Object(entries) => entries.values().for_each(|value| hide_leaves(value, run)),
        Value::Null | Value::Bool(_) => {}
    }
}
