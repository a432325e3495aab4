//! A property string as a person gives it: the whole line, or a mapping of its sub-options.

use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

/// The whole line, or a mapping of its sub-options; a sub-option that is null is taken away, and so
/// is the whole if it is null.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub(crate) enum Lined {
    /// The line as PVE writes it.
    Line(String),
    /// Sub-options by name.
    Options(BTreeMap<String, Option<String>>),
    /// Null: that there is none.
    Absent,
}

impl JsonSchema for Lined {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Lined".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({})
    }
}

impl<'de> Deserialize<'de> for Lined {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(LinedVisitor)
    }
}

struct LinedVisitor;

impl<'de> Visitor<'de> for LinedVisitor {
    type Value = Lined;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a line or a mapping of its options")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Lined, E> {
        Ok(Lined::Line(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Lined, E> {
        Ok(Lined::Line(if value { "1" } else { "0" }.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Lined, E> {
        Ok(Lined::Line(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Lined, E> {
        Ok(Lined::Line(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Lined, E> {
        Ok(Lined::Line(number.to_string()))
    }

    fn visit_unit<E: Error>(self) -> Result<Lined, E> {
        Ok(Lined::Absent)
    }

    fn visit_none<E: Error>(self) -> Result<Lined, E> {
        Ok(Lined::Absent)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Lined, A::Error> {
        let mut options = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Option<Scalar>>()? {
            options.insert(name, value.map(|scalar| scalar.0));
        }
        Ok(Lined::Options(options))
    }
}

/// A value of a sub-option. A list is written with `;` between its items.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

struct ScalarVisitor;

impl<'de> Visitor<'de> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text, number, truth value or list of these")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.to_owned()))
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<Scalar, E> {
        Ok(Scalar(if value { "1" } else { "0" }.to_owned()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Scalar, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element::<Scalar>()? {
            items.push(item.0);
        }
        Ok(Scalar(items.join(";")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn lines_and_mappings() {
        for (value, expected) in [
            (json!("virtio,bridge=vmbr0"), Lined::Line("virtio,bridge=vmbr0".into())),
            (json!(true), Lined::Line("1".into())),
            (json!(3), Lined::Line("3".into())),
            (json!(null), Lined::Absent),
            (
                json!({"firewall": false, "tag": 10, "rate": 5.5, "trunks": [1, 2], "mtu": null}),
                Lined::Options(
                    [
                        ("firewall", Some("0")),
                        ("tag", Some("10")),
                        ("rate", Some("5.5")),
                        ("trunks", Some("1;2")),
                        ("mtu", None),
                    ]
                    .into_iter()
                    .map(|(name, value)| (name.to_owned(), value.map(str::to_owned)))
                    .collect(),
                ),
            ),
        ] {
            assert_eq!(
                serde_json::from_value::<Lined>(value.clone()).unwrap(),
                expected,
                "{value}"
            );
        }
        let error = serde_json::from_value::<Lined>(json!(["a"])).unwrap_err().to_string();
        assert!(error.contains("a line or a mapping of its options"), "{error}");
    }
}
