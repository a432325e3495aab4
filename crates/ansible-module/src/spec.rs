//! The argument spec of a module, read from the schema of its options. One model serves validation,
//! the printed description and the check of the examples, so they cannot part.

mod build;
#[cfg(test)]
mod tests;

use serde_json::Value;

pub(crate) use build::schema_of;

/// A set of options: of a module, or of one option that holds others.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Spec {
    /// The options as declared.
    pub(crate) options: Vec<Opt>,
    /// The shape of values under other names; without it other names are refused.
    pub(crate) rest: Option<Box<Shape>>,
}

/// One option.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Opt {
    pub(crate) name: String,
    pub(crate) aliases: Vec<String>,
    /// The environment variables that stand in for the option, first come first served.
    pub(crate) env: Vec<String>,
    pub(crate) required: bool,
    pub(crate) default: Option<Value>,
    pub(crate) description: String,
    pub(crate) shape: Shape,
}

/// What a value must be like.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Shape {
    pub(crate) kind: Kind,
    pub(crate) no_log: bool,
    pub(crate) minimum: Option<f64>,
    pub(crate) maximum: Option<f64>,
    /// Whether an empty text can be a value, or only stands for an option that is not given.
    pub(crate) may_be_empty: bool,
}

/// The type of a value, in Ansible's sense.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Kind {
    Str,
    /// A text in which `~` and variables of the environment are expanded.
    Path,
    Int,
    Float,
    Bool,
    /// Taken as it is.
    Raw,
    Choice(Vec<Choice>),
    List(Box<Shape>),
    Dict(Spec),
    /// One of several, told apart by the JSON type if it can be.
    OneOf(Vec<Shape>),
}

/// One allowed value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Choice {
    pub(crate) value: Value,
    pub(crate) description: String,
}

impl Spec {
    /// The option of this name or alias.
    pub(crate) fn find(&self, name: &str) -> Option<&Opt> {
        let alias = |option: &&Opt| option.aliases.iter().any(|alias| alias == name);
        self.options
            .iter()
            .find(|option| option.name == name)
            .or_else(|| self.options.iter().find(alias))
    }

    /// Whether a secret may be anywhere in it.
    pub(crate) fn holds_secret(&self) -> bool {
        self.options.iter().any(|option| option.shape.holds_secret())
            || self.rest.as_ref().is_some_and(|shape| shape.holds_secret())
    }
}

impl Shape {
    pub(crate) fn new(kind: Kind) -> Self {
        Self { kind, no_log: false, minimum: None, maximum: None, may_be_empty: true }
    }

    /// Whether it is a secret or has one inside.
    pub(crate) fn holds_secret(&self) -> bool {
        self.no_log
            || match &self.kind {
                Kind::List(item) => item.holds_secret(),
                Kind::Dict(spec) => spec.holds_secret(),
                Kind::OneOf(shapes) => shapes.iter().any(Self::holds_secret),
                _ => false,
            }
    }

    /// Ansible's name of the type.
    pub(crate) fn type_name(&self) -> &'static str {
        match &self.kind {
            Kind::Str | Kind::Choice(_) => "str",
            Kind::Path => "path",
            Kind::Int => "int",
            Kind::Float => "float",
            Kind::Bool => "bool",
            Kind::Raw | Kind::OneOf(_) => "raw",
            Kind::List(_) => "list",
            Kind::Dict(_) => "dict",
        }
    }
}
