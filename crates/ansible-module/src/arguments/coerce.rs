//! One value into the type that its option has. Ansible's users write numbers in quotes, words for
//! booleans and comma-joined lists, and templates give text where a literal would give a number.

use serde_json::{Number, Value};

use super::boolean::{boolean, words};
use super::messages::{At, class, plain, quoted};
use super::validate::Checker;
use super::{literal, validate};
use crate::spec::{Choice, Kind, Shape};

impl Checker<'_> {
    /// The value as `shape` wants it; nothing if it only stands for an option that is not given, or
    /// if it is wrong, which is then among the errors.
    pub(crate) fn value(&mut self, at: &At, shape: &Shape, value: &Value) -> Option<Value> {
        if value.is_null() && shape.kind != Kind::Raw {
            return None;
        }
        if stands_for_unset(shape, value) {
            return None;
        }
        let made = match &shape.kind {
            Kind::Raw => Ok(value.clone()),
            Kind::Str => self.text(value),
            Kind::Path => self.text(value).map(|path| self.expand(path)),
            Kind::Int => integer(value),
            Kind::Float => float(value),
            Kind::Bool => truth(value),
            Kind::Choice(choices) => match choose(choices, value) {
                Some(choice) => Ok(choice),
                None => {
                    self.errors.push(at.not_a_choice(&allowed(choices), value));
                    return None;
                }
            },
            Kind::List(item) => match list(item, value) {
                Ok(items) => return Some(self.elements(at, item, &items)),
                Err(reason) => Err(reason),
            },
            Kind::Dict(spec) => match dict(value) {
                Ok(Value::Object(entries)) => {
                    let made = self.options(spec, entries, &at.inside(), None);
                    return Some(Value::Object(made));
                }
                Ok(_) => Err(format!("{} cannot be converted to a dict", class(value))),
                Err(reason) => Err(reason),
            },
            Kind::OneOf(shapes) => return self.one_of(at, shapes, value),
        };
        match made {
            Ok(made) => self.within(at, shape, made),
            Err(reason) => {
                self.errors.push(at.wrong_type(value, shape.type_name(), &reason));
                None
            }
        }
    }

    fn within(&mut self, at: &At, shape: &Shape, value: Value) -> Option<Value> {
        if let Some(number) = value.as_f64()
            && (shape.minimum.is_some_and(|minimum| number < minimum)
                || shape.maximum.is_some_and(|maximum| number > maximum))
        {
            self.errors.push(at.out_of_range(shape.minimum, shape.maximum, &value));
            return None;
        }
        Some(value)
    }

    fn elements(&mut self, at: &At, item: &Shape, items: &[Value]) -> Value {
        let at = at.as_element();
        if let Kind::Choice(choices) = &item.kind {
            let given = items.iter().filter(|value| !stands_for_unset(item, value));
            let (right, wrong): (Vec<_>, Vec<_>) =
                given.map(|value| choose(choices, value).ok_or(value)).partition(Result::is_ok);
            let wrong: Vec<Value> = wrong.into_iter().filter_map(Result::err).cloned().collect();
            if !wrong.is_empty() {
                self.errors.push(at.no_choices(&allowed(choices), &wrong));
            }
            return right.into_iter().filter_map(Result::ok).collect();
        }
        items.iter().filter_map(|value| self.value(&at, item, value)).collect()
    }

    /// An alternative whose JSON type the value has already comes first, so that a name is not
    /// taken for a number; then the first that the value can be made into.
    fn one_of(&mut self, at: &At, shapes: &[Shape], value: &Value) -> Option<Value> {
        let word = value.as_str().filter(|word| word.chars().all(char::is_alphabetic));
        let says_boolean = word.and_then(boolean).is_some();
        let (fitting, others): (Vec<&Shape>, Vec<&Shape>) =
            shapes.iter().partition(|shape| match (&shape.kind, value) {
                (Kind::Bool, Value::String(_)) => says_boolean,
                (Kind::Str, Value::String(_)) => !says_boolean,
                (kind, value) => is_already(kind, value),
            });
        for shape in fitting.iter().chain(&others) {
            let mut trial = self.trial();
            if let Some(made) = trial.value(at, shape, value)
                && trial.errors.is_empty()
            {
                self.warnings.append(&mut trial.warnings);
                return Some(made);
            }
        }
        if let [only] = fitting.as_slice() {
            return self.value(at, only, value);
        }
        let wanted: Vec<&str> = shapes.iter().map(Shape::type_name).collect();
        let reason = format!("{} cannot be converted", quoted(value));
        self.errors.push(at.wrong_type(value, &wanted.join(" or "), &reason));
        None
    }

    fn text(&self, value: &Value) -> Result<Value, String> {
        match value {
            Value::String(_) => Ok(value.clone()),
            Value::Number(_) | Value::Bool(_) => Ok(plain(value).into()),
            // up to 2.18 a template whose text looks like a dictionary or list arrives as one
            _ if self.old_templates => Ok(validate::spaced(value).into()),
            _ => Err(format!("{} cannot be converted to a str", class(value))),
        }
    }
}

impl Checker<'_> {
    /// A path as a shell would read it: `~`, `$NAME` and `${NAME}`. What is not set stays.
    fn expand(&self, path: Value) -> Value {
        let Value::String(path) = path else { return path };
        let (mut out, mut rest) = match path.strip_prefix('~') {
            Some(after) if after.is_empty() || after.starts_with('/') => {
                ((self.env)("HOME").unwrap_or_else(|| "~".to_owned()), after)
            }
            _ => (String::new(), path.as_str()),
        };
        while let Some((before, after)) = rest.split_once('$') {
            out.push_str(before);
            let braced = after.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let (name, end) = braced.unwrap_or_else(|| {
                let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                after.split_at(after.find(|c| !word(c)).unwrap_or(after.len()))
            });
            let value = if name.is_empty() { None } else { (self.env)(name) };
            out.push_str(
                &value.unwrap_or_else(|| format!("${}", &after[..after.len() - end.len()])),
            );
            rest = end;
        }
        out.push_str(rest);
        out.into()
    }
}

fn stands_for_unset(shape: &Shape, value: &Value) -> bool {
    match (value, &shape.kind) {
        (Value::Null, kind) => *kind != Kind::Raw,
        (Value::String(text), _) if !text.trim().is_empty() => false,
        (Value::String(_), Kind::Raw) => false,
        (Value::String(_), Kind::Str) => !shape.may_be_empty && value == "",
        (Value::String(_), Kind::Path) => value == "",
        (Value::String(text), Kind::Choice(choices)) => {
            !choices.iter().any(|choice| choice.value == *text.as_str())
        }
        (Value::String(_), Kind::OneOf(shapes)) => {
            shapes.iter().all(|shape| stands_for_unset(shape, value))
        }
        (Value::String(_), _) => true,
        _ => false,
    }
}

fn is_already(kind: &Kind, value: &Value) -> bool {
    match value {
        Value::Bool(_) => *kind == Kind::Bool,
        Value::Number(number) if number.is_f64() => *kind == Kind::Float,
        Value::Number(_) => *kind == Kind::Int,
        Value::String(_) => matches!(kind, Kind::Str | Kind::Path),
        Value::Array(_) => matches!(kind, Kind::List(_)),
        Value::Object(_) => matches!(kind, Kind::Dict(_)),
        Value::Null => false,
    }
}

fn integer(value: &Value) -> Result<Value, String> {
    let number = match value {
        Value::Number(number) if !number.is_f64() => Some(number.clone()),
        Value::Number(number) => number.as_f64().and_then(whole),
        Value::String(text) => {
            let text = text.trim();
            let text = text.strip_prefix('+').unwrap_or(text);
            text.parse::<i64>()
                .map(Number::from)
                .or_else(|_| text.parse::<u64>().map(Number::from))
                .ok()
                .or_else(|| decimal(text).and_then(whole))
        }
        _ => None,
    };
    number
        .map(Value::Number)
        .ok_or_else(|| format!("\"{}\" cannot be converted to an int", quoted(value)))
}

/// A number without a fraction; beyond 2^53 it may not be the one that was written.
fn whole(number: f64) -> Option<Number> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    #[expect(clippy::cast_possible_truncation, reason = "it was just compared with the limit")]
    let whole = || Number::from(number as i64);
    (number.fract() == 0.0 && number.abs() <= EXACT).then(whole)
}

/// A decimal number: neither "inf" nor "nan", which Rust would read.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.'));
    text.parse().ok().filter(|number: &f64| plain && number.is_finite())
}

fn float(value: &Value) -> Result<Value, String> {
    let number = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => {
            let text = text.trim();
            decimal(text.strip_prefix('+').unwrap_or(text))
        }
        _ => None,
    };
    number
        .and_then(Number::from_f64)
        .map(Value::Number)
        .ok_or_else(|| format!("{} cannot be converted to a float", class(value)))
}

fn truth(value: &Value) -> Result<Value, String> {
    let found = match value {
        Value::Bool(truth) => Some(*truth),
        Value::String(word) => boolean(word),
        Value::Number(number) => match number.as_f64() {
            Some(1.0) => Some(true),
            Some(0.0) => Some(false),
            _ => None,
        },
        _ => return Err(format!("{} cannot be converted to a bool", class(value))),
    };
    found.map(Value::Bool).ok_or_else(|| {
        format!(
            "The value '{}' is not a valid boolean. Valid booleans include: {}",
            plain(value),
            words()
        )
    })
}

fn allowed(choices: &[Choice]) -> Vec<Value> {
    choices.iter().map(|choice| choice.value.clone()).collect()
}

/// The choice that is meant. YAML reads `on` and `no` as booleans, so a boolean stands for the one
/// choice that is such a word.
fn choose(choices: &[Choice], value: &Value) -> Option<Value> {
    if !matches!(value, Value::String(_) | Value::Number(_) | Value::Bool(_)) {
        return None;
    }
    let exact = |choice: &&Choice| plain(&choice.value) == plain(value);
    if let Some(choice) = choices.iter().find(exact) {
        return Some(choice.value.clone());
    }
    let given = match value {
        Value::Bool(given) => *given,
        Value::String(text) if text == "True" => true,
        Value::String(text) if text == "False" => false,
        _ => return None,
    };
    let mut meant =
        choices.iter().filter(|choice| choice.value.as_str().and_then(boolean) == Some(given));
    match (meant.next(), meant.next()) {
        (Some(choice), None) => Some(choice.value.clone()),
        _ => None,
    }
}

fn list(item: &Shape, value: &Value) -> Result<Vec<Value>, String> {
    match value {
        Value::Array(items) => Ok(items.clone()),
        Value::Number(_) => Ok(vec![value.clone()]),
        Value::String(text) => {
            let text = text.trim();
            if text.starts_with('[')
                && let Some(Value::Array(items)) = literal::parse(text)
            {
                return Ok(items);
            }
            if matches!(item.kind, Kind::Dict(_)) {
                return Ok(vec![value.clone()]);
            }
            let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
            Ok(parts.map(Value::from).collect())
        }
        _ => Err(format!("{} cannot be converted to a list", class(value))),
    }
}

pub(crate) fn dict(value: &Value) -> Result<Value, String> {
    let text = match value {
        Value::Object(_) => return Ok(value.clone()),
        Value::String(text) => text.trim(),
        _ => return Err(format!("{} cannot be converted to a dict", class(value))),
    };
    if text.starts_with('{') {
        return literal::parse(text)
            .filter(Value::is_object)
            .ok_or_else(|| "unable to evaluate string as dictionary".to_owned());
    }
    if !text.contains('=') {
        return Err("dictionary requested, could not parse JSON or key=value".to_owned());
    }
    literal::key_values(text).map(Value::Object).ok_or_else(|| {
        "unable to evaluate string in the \"key=value\" format as dictionary".to_owned()
    })
}
