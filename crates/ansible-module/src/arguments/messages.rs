//! Ansible's wording. Operators search for these sentences, so they are kept to the letter where
//! Ansible has one; where it has none, ours follows its form.

use serde_json::Value;

use super::similar::nearest;
use crate::spec::Spec;

/// Where a value stands: the option, and the options around it.
#[derive(Debug, Clone, Default)]
pub(crate) struct At {
    pub(crate) context: Vec<String>,
    pub(crate) name: String,
    /// Whether the value is an element of the option's list.
    pub(crate) element: bool,
}

impl At {
    pub(crate) fn option(context: &[String], name: &str) -> Self {
        Self { context: context.to_vec(), name: name.to_owned(), element: false }
    }

    pub(crate) fn as_element(&self) -> Self {
        Self { element: true, ..self.clone() }
    }

    /// The context of the options inside this one.
    pub(crate) fn inside(&self) -> Vec<String> {
        let mut context = self.context.clone();
        context.push(self.name.clone());
        context
    }

    pub(crate) fn wrong_type(&self, value: &Value, wanted: &str, reason: &str) -> String {
        let subject = if self.element {
            format!("Elements value for option '{}'", self.name)
        } else {
            format!("argument '{}'", self.name)
        };
        let found = if self.context.is_empty() {
            String::new()
        } else {
            format!(" found in '{}'", self.context.join(" -> "))
        };
        let class = class(value);
        format!(
            "{subject}{found} is of type {class} and we were unable to convert to {wanted}: {reason}"
        )
    }

    pub(crate) fn not_a_choice(&self, allowed: &[Value], got: &Value) -> String {
        let name = &self.name;
        let sentence =
            format!("value of {name} must be one of: {}, got: {}", list(allowed), plain(got));
        found_in(sentence, &self.context)
    }

    pub(crate) fn no_choices(&self, allowed: &[Value], got: &[Value]) -> String {
        let sentence = format!(
            "value of {} must be one or more of: {}. Got no match for: {}",
            self.name,
            list(allowed),
            list(got)
        );
        found_in(sentence, &self.context)
    }

    pub(crate) fn out_of_range(
        &self,
        minimum: Option<f64>,
        maximum: Option<f64>,
        got: &Value,
    ) -> String {
        let range = match (minimum, maximum) {
            (Some(minimum), Some(maximum)) => format!("between {minimum} and {maximum}"),
            (Some(minimum), None) => format!("at least {minimum}"),
            (None, Some(maximum)) => format!("at most {maximum}"),
            (None, None) => "in range".to_owned(),
        };
        let sentence = format!("value of {} must be {range}, got: {}", self.name, plain(got));
        found_in(sentence, &self.context)
    }
}

/// Adds where an option stands, as Ansible does for suboptions.
pub(crate) fn found_in(sentence: String, context: &[String]) -> String {
    if context.is_empty() {
        sentence
    } else {
        format!("{sentence} found in {}", context.join(" -> "))
    }
}

/// The refusal of options that do not exist, with what was probably meant.
pub(crate) fn unsupported(
    module: &str,
    context: &[String],
    unknown: &[String],
    spec: &Spec,
) -> String {
    let mut prefix = context.join(".");
    if !prefix.is_empty() {
        prefix.push('.');
    }
    let mut given: Vec<String> = unknown.iter().map(|name| format!("{prefix}{name}")).collect();
    given.sort_unstable();
    let mut names: Vec<&str> = spec.options.iter().map(|option| option.name.as_str()).collect();
    names.sort_unstable();
    let mut aliases: Vec<&str> =
        spec.options.iter().flat_map(|option| &option.aliases).map(String::as_str).collect();
    aliases.sort_unstable();
    let mut sentence = format!(
        "Unsupported parameters for ({module}) module: {}. Supported parameters include: {}",
        given.join(", "),
        names.join(", ")
    );
    if !aliases.is_empty() {
        sentence.push_str(&format!(" ({})", aliases.join(", ")));
    }
    sentence.push('.');
    for name in unknown {
        if let Some(meant) = nearest(name, names.iter().chain(&aliases).copied()) {
            sentence.push_str(&format!(" Did you mean '{meant}' instead of '{name}'?"));
        }
    }
    sentence
}

/// Several sentences as one message.
pub(crate) fn join(sentences: &[String]) -> String {
    let mut message = String::new();
    for sentence in sentences {
        if message.ends_with(['.', '?']) {
            message.push(' ');
        } else if !message.is_empty() {
            message.push_str("; ");
        }
        message.push_str(sentence);
    }
    message
}

/// Python's name of the type, which Ansible's messages show.
pub(crate) fn class(value: &Value) -> &'static str {
    match value {
        Value::Null => "<class 'NoneType'>",
        Value::Bool(_) => "<class 'bool'>",
        Value::Number(number) if number.is_f64() => "<class 'float'>",
        Value::Number(_) => "<class 'int'>",
        Value::String(_) => "<class 'str'>",
        Value::Array(_) => "<class 'list'>",
        Value::Object(_) => "<class 'dict'>",
    }
}

/// A value as Python prints it in a sentence.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// A value as Python prints it inside another.
pub(crate) fn quoted(value: &Value) -> String {
    match value {
        Value::String(text) => format!("'{text}'"),
        other => plain(other),
    }
}

fn list(values: &[Value]) -> String {
    values.iter().map(plain).collect::<Vec<_>>().join(", ")
}
