//! From a JSON schema to an argument spec.

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value};

use super::{Choice, Kind, Opt, Shape, Spec};

/// The schema of a type with everything in place, as options have no names for their types.
pub(crate) fn schema_of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

impl Spec {
    /// The spec of these options.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        Self::from_schema(&schema_of::<T>())
    }

    pub(crate) fn from_schema(schema: &Value) -> Self {
        let required: Vec<&str> = texts(schema, "required");
        let properties = schema.get("properties").and_then(Value::as_object);
        let options = properties
            .into_iter()
            .flatten()
            .map(|(name, schema)| Opt {
                name: name.clone(),
                aliases: texts(schema, "x-aliases").into_iter().map(str::to_owned).collect(),
                env: texts(schema, "x-env").into_iter().map(str::to_owned).collect(),
                required: required.contains(&name.as_str()),
                default: schema.get("default").filter(|value| !value.is_null()).cloned(),
                description: text(schema, "description"),
                shape: Shape::from_schema(schema),
            })
            .collect();
        let rest = match schema.get("additionalProperties") {
            None | Some(Value::Bool(false)) => None,
            Some(schema) => Some(Box::new(Shape::from_schema(schema))),
        };
        Self { options, rest }
    }
}

impl Shape {
    pub(crate) fn from_schema(schema: &Value) -> Self {
        let mut shape = Self::new(kind(schema));
        shape.no_log = schema.get("x-no-log") == Some(&Value::Bool(true));
        shape.minimum = schema.get("minimum").and_then(Value::as_f64);
        shape.maximum = schema.get("maximum").and_then(Value::as_f64);
        let length = schema.get("minLength").and_then(Value::as_u64).unwrap_or(0);
        shape.may_be_empty = !shape.no_log && length == 0 && schema.get("pattern").is_none();
        // what is around an optional value's schema also holds for the schema inside
        if let Kind::OneOf(inner) = &mut shape.kind
            && let [_] = inner.as_slice()
            && let Some(mut inner) = inner.pop()
        {
            inner.no_log |= shape.no_log;
            return inner;
        }
        shape
    }
}

fn kind(schema: &Value) -> Kind {
    if let Some(choices) = choices(schema) {
        return Kind::Choice(choices);
    }
    for word in ["oneOf", "anyOf"] {
        if let Some(variants) = schema.get(word).and_then(Value::as_array) {
            let mut shapes = Vec::new();
            for shape in variants.iter().filter(|schema| !is_null(schema)).map(Shape::from_schema) {
                match shape.kind {
                    Kind::OneOf(inner) => shapes.extend(inner),
                    _ => shapes.push(shape),
                }
            }
            return Kind::OneOf(shapes);
        }
    }
    match schema.get("type") {
        Some(Value::String(name)) => simple(name, schema),
        Some(Value::Array(names)) => {
            let mut names = names.iter().filter_map(Value::as_str).filter(|name| *name != "null");
            match (names.next(), names.next()) {
                (Some(name), None) => simple(name, schema),
                (None, _) => Kind::Raw,
                (Some(first), Some(second)) => Kind::OneOf(
                    [first, second]
                        .into_iter()
                        .chain(names)
                        .map(|name| Shape::new(simple(name, schema)))
                        .collect(),
                ),
            }
        }
        _ => Kind::Raw,
    }
}

fn simple(name: &str, schema: &Value) -> Kind {
    match name {
        "string" if text(schema, "x-type") == "path" => Kind::Path,
        "string" => Kind::Str,
        "integer" => Kind::Int,
        "number" => Kind::Float,
        "boolean" => Kind::Bool,
        "array" => {
            let items = schema.get("items");
            Kind::List(Box::new(items.map_or(Shape::new(Kind::Raw), Shape::from_schema)))
        }
        "object" => {
            let mut spec = Spec::from_schema(schema);
            if schema.get("properties").is_none() && spec.rest.is_none() {
                spec.rest = Some(Box::new(Shape::new(Kind::Raw)));
            }
            Kind::Dict(spec)
        }
        _ => Kind::Raw,
    }
}

/// The choices, if the schema is an enumeration: `const`, `enum`, or several of them.
fn choices(schema: &Value) -> Option<Vec<Choice>> {
    let description = text(schema, "description");
    let choice = |value: &Value| Choice { value: value.clone(), description: description.clone() };
    if let Some(value) = schema.get("const") {
        return Some(vec![choice(value)]);
    }
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values = values.iter().filter(|value| !value.is_null());
        return Some(
            values
                .map(|value| Choice { value: value.clone(), description: String::new() })
                .collect(),
        );
    }
    let variants = schema.get("oneOf").or_else(|| schema.get("anyOf"))?.as_array()?;
    let mut all = Vec::new();
    for variant in variants.iter().filter(|variant| !is_null(variant)) {
        all.extend(choices(variant)?);
    }
    (!all.is_empty()).then_some(all)
}

fn is_null(schema: &Value) -> bool {
    schema.get("type").and_then(Value::as_str) == Some("null")
}

fn text(schema: &Value, key: &str) -> String {
    schema.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

fn texts<'a>(schema: &'a Value, key: &str) -> Vec<&'a str> {
    let list = schema.as_object().and_then(|schema: &Map<_, _>| schema.get(key));
    list.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str).collect()
}
