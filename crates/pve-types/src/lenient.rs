//! Reading what a server says: a number in quotes, `1` for true, a key that is missing or empty.
//!
//! For `#[serde(deserialize_with = "...")]`. Strictness is for what a user wrote; an answer is read
//! by its meaning.

use std::fmt;

use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer};

/// A text, or a number or truth value as PVE writes it in a text.
///
/// # Errors
/// When it is a list, a mapping or nothing.
pub fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    struct Text;
    impl Visitor<'_> for Text {
        type Value = String;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a text or a number")
        }

        fn visit_str<E: Error>(self, text: &str) -> Result<String, E> {
            Ok(text.to_owned())
        }

        fn visit_string<E: Error>(self, text: String) -> Result<String, E> {
            Ok(text)
        }

        fn visit_bool<E: Error>(self, value: bool) -> Result<String, E> {
            Ok(if value { "1" } else { "0" }.to_owned())
        }

        fn visit_i64<E: Error>(self, value: i64) -> Result<String, E> {
            Ok(value.to_string())
        }

        fn visit_u64<E: Error>(self, value: u64) -> Result<String, E> {
            Ok(value.to_string())
        }

        fn visit_f64<E: Error>(self, value: f64) -> Result<String, E> {
            Ok(value.to_string())
        }
    }
    deserializer.deserialize_any(Text)
}

/// Any scalar, for use below an `Option`.
struct Scalar(String);

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        text(deserializer).map(Self)
    }
}

/// An optional text; a number becomes its text.
///
/// # Errors
/// When it is a list or a mapping.
pub fn optional_text<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<String>, D::Error> {
    Ok(Option::<Scalar>::deserialize(deserializer)?.map(|scalar| scalar.0))
}

/// An optional number, in quotes or not. An empty text is no number.
///
/// # Errors
/// When the text is not a number.
pub fn optional_number<'de, D: Deserializer<'de>, T: std::str::FromStr>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    let Some(text) = optional_text(deserializer)? else { return Ok(None) };
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| D::Error::custom(format!("'{text}' is not a number")))
}

/// A truth value: `1`, `"1"`, `true`, `"true"`, `yes`, `on` are true; everything else, a missing
/// or empty value included, is false. For use with `#[serde(default)]`.
///
/// # Errors
/// When it is a list or a mapping.
pub fn flag<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Ok(optional_text(deserializer)?.is_some_and(|text| is_true(&text)))
}

/// Whether PVE means yes by this text.
#[must_use]
pub fn is_true(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "1" | "true" | "yes" | "on")
}

/// Whether PVE means no by this text.
#[must_use]
pub fn is_false(text: &str) -> bool {
    matches!(text.trim().to_ascii_lowercase().as_str(), "0" | "false" | "no" | "off")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, Deserialize)]
    struct Row {
        #[serde(default, deserialize_with = "flag")]
        template: bool,
        #[serde(default, deserialize_with = "optional_number")]
        memory: Option<u64>,
        #[serde(default, deserialize_with = "optional_text")]
        cpulimit: Option<String>,
    }

    #[test]
    fn a20_only_one_is_a_template() {
        for (json, template) in [
            (r#"{"template":""}"#, false),
            ("{}", false),
            (r#"{"template":0}"#, false),
            (r#"{"template":null}"#, false),
            (r#"{"template":1}"#, true),
            (r#"{"template":"1"}"#, true),
            (r#"{"template":true}"#, true),
        ] {
            let row: Row = serde_json::from_str(json).unwrap();
            assert_eq!(row.template, template, "{json}");
        }
    }

    #[test]
    fn numbers_in_quotes_are_numbers() {
        let row: Row = serde_json::from_str(r#"{"memory":"2048","cpulimit":1.5}"#).unwrap();
        assert_eq!(row.memory, Some(2048));
        assert_eq!(row.cpulimit.as_deref(), Some("1.5"));
        let row: Row = serde_json::from_str(r#"{"memory":""}"#).unwrap();
        assert_eq!(row.memory, None);
        let error = serde_json::from_str::<Row>(r#"{"memory":"lots"}"#).unwrap_err().to_string();
        assert!(error.contains("'lots' is not a number"), "{error}");
    }
}
