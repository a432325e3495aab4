//! A whole set of options: which are given, under which names, and whether they go together.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::messages::{At, found_in, join, unsupported};
use super::omit::drop_omitted;
use super::{relations, secrets};
use crate::spec::{Kind, Spec};
use crate::{Failure, Meta, Run};

/// How an environment variable is looked up.
type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What the arguments file holds beside the options, as far as validation needs it.
#[derive(Debug, Clone, Default)]
pub(crate) struct Request {
    /// The name in the task, for messages.
    pub(crate) module: String,
    /// Drop options that do not exist instead of refusing them.
    pub(crate) ignore_unknown: bool,
    /// Templates give text that looks like a dictionary as one (ansible-core before 2.19).
    pub(crate) old_templates: bool,
}

/// Makes the options of a task into what the module declares, or says everything that is wrong.
pub(crate) fn validate(
    spec: &Spec,
    meta: &Meta,
    request: &Request,
    mut arguments: Map<String, Value>,
    env: Env<'_>,
    run: &Run,
) -> Result<Map<String, Value>, Failure> {
    drop_omitted(&mut arguments);
    secrets::hide(spec, &arguments, run);
    let mut checker = Checker::new(request, env, meta);
    let mut taken = BTreeSet::new();
    let fall_back = FallBack { env, meta, taken: &mut taken };
    let options = checker.options(spec, arguments, &[], Some(fall_back));
    secrets::hide(spec, &options, run);
    for text in std::mem::take(&mut checker.warnings) {
        run.warn(text);
    }
    let mut errors = checker.errors;
    errors.extend(relations::check(spec, meta, &options, &taken));
    if errors.is_empty() { Ok(options) } else { Err(Failure::new(join(&errors))) }
}

/// Where options that a task does not give may come from.
pub(crate) struct FallBack<'a> {
    env: Env<'a>,
    meta: &'a Meta,
    /// The options that came from the environment.
    taken: &'a mut BTreeSet<String>,
}

/// Goes through options and collects what is wrong, so that a user sees all of it at once.
pub(crate) struct Checker<'a> {
    request: &'a Request,
    meta: &'a Meta,
    pub(crate) env: Env<'a>,
    pub(crate) old_templates: bool,
    pub(crate) errors: Vec<String>,
    pub(crate) warnings: Vec<String>,
}

impl<'a> Checker<'a> {
    fn new(request: &'a Request, env: Env<'a>, meta: &'a Meta) -> Self {
        Self {
            request,
            meta,
            env,
            old_templates: request.old_templates,
            errors: Vec::new(),
            warnings: Vec::new(),
        }
    }

    /// A checker of the same kind whose errors do not count.
    pub(crate) fn trial(&self) -> Self {
        Self::new(self.request, self.env, self.meta)
    }

    pub(crate) fn options(
        &mut self,
        spec: &Spec,
        mut given: Map<String, Value>,
        context: &[String],
        fall_back: Option<FallBack<'_>>,
    ) -> Map<String, Value> {
        self.resolve_aliases(spec, &mut given, context);
        // of a mapping whose values may be anything, null is one: the module says what it means
        let free = spec.rest.as_ref().is_some_and(|shape| shape.kind == Kind::Raw);
        let named = |name: &str| spec.options.iter().any(|option| option.name == name);
        given.retain(|name, value| !value.is_null() || (free && !named(name)));
        if let Some(fall_back) = fall_back {
            from_environment(spec, &mut given, fall_back);
        }
        let mut made = Map::new();
        let mut unknown = Vec::new();
        for (name, value) in &given {
            let shape = match spec.options.iter().find(|option| option.name == *name) {
                Some(option) => &option.shape,
                None => match &spec.rest {
                    Some(shape) => shape,
                    None => {
                        unknown.push(name.clone());
                        continue;
                    }
                },
            };
            if let Some(value) = self.value(&At::option(context, name), shape, value) {
                made.insert(name.clone(), value);
            }
        }
        if !unknown.is_empty() && !self.request.ignore_unknown {
            let mut sentence = unsupported(&self.request.module, context, &unknown, spec);
            for (name, advice) in self.meta.known_elsewhere {
                if context.is_empty() && unknown.iter().any(|unknown| unknown == name) {
                    sentence.push_str(&format!(" {name}: {advice}."));
                }
            }
            self.errors.push(sentence);
        }
        let mut missing: Vec<&str> = spec
            .options
            .iter()
            .filter(|option| option.required && !is_given(&given, &made, &option.name))
            .map(|option| option.name.as_str())
            .collect();
        if !missing.is_empty() {
            missing.sort_unstable();
            let sentence = format!("missing required arguments: {}", missing.join(", "));
            self.errors.push(found_in(sentence, context));
        }
        made
    }

    /// Ansible lets an alias win over the option's own name, and says so.
    fn resolve_aliases(&mut self, spec: &Spec, given: &mut Map<String, Value>, context: &[String]) {
        let prefix: String = context.iter().map(|name| format!("{name}.")).collect();
        for option in &spec.options {
            for alias in &option.aliases {
                let Some(value) = given.remove(alias) else { continue };
                if given.insert(option.name.clone(), value).is_some() {
                    self.warnings.push(format!(
                        "Both option {prefix}{} and its alias {prefix}{alias} are set.",
                        option.name
                    ));
                }
            }
        }
    }
}

/// Whether an option has a value, right or wrong: a wrong one is not also missing. One that only
/// stands for an option that is not given has none.
fn is_given(given: &Map<String, Value>, made: &Map<String, Value>, name: &str) -> bool {
    made.contains_key(name)
        || given
            .get(name)
            .is_some_and(|value| value.as_str().is_none_or(|text| !text.trim().is_empty()))
}

/// Options that the task does not give, from the environment. One that excludes another which the
/// task does give is left out: the task knows better than the environment.
fn from_environment(spec: &Spec, given: &mut Map<String, Value>, fall_back: FallBack<'_>) {
    let FallBack { env, meta, taken } = fall_back;
    let from_task: Vec<String> =
        given.iter().filter(|(_, value)| *value != "").map(|(name, _)| name.clone()).collect();
    for option in &spec.options {
        let excluded = meta.mutually_exclusive.iter().any(|group| {
            group.contains(&option.name.as_str())
                && group.iter().any(|other| {
                    *other != option.name && from_task.iter().any(|name| name == other)
                })
        });
        if excluded || from_task.contains(&option.name) {
            continue;
        }
        let found = option.env.iter().find_map(|name| env(name).filter(|value| !value.is_empty()));
        if let Some(value) = found {
            given.insert(option.name.clone(), value.into());
            taken.insert(option.name.clone());
        }
    }
}

/// JSON as Python's `json.dumps` spaces it.
pub(crate) fn spaced(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            format!("[{}]", items.iter().map(spaced).collect::<Vec<_>>().join(", "))
        }
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", Value::from(key.as_str()), spaced(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_string(),
    }
}
