//! The parts of a property string, whatever it means.

use std::fmt;

/// Comma-joined parts: `key=value`, and bare values that belong to a default key. Every line is
/// printed again exactly as it was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PropertyString {
    parts: Vec<Part>,
}

/// One part: a value and the key before its first `=`, if there is one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What stands before the first `=`.
    pub key: Option<String>,
    /// What stands after it, or the whole part.
    pub value: String,
}

impl PropertyString {
    /// Reads a line. There is no line that cannot be read.
    #[must_use]
    pub fn new(line: &str) -> Self {
        if line.is_empty() {
            return Self::default();
        }
        let parts = line
            .split(',')
            .map(|part| match part.split_once('=') {
                Some((key, value)) => Part { key: Some(key.to_owned()), value: value.to_owned() },
                None => Part { key: None, value: part.to_owned() },
            })
            .collect();
        Self { parts }
    }

    /// The parts in order.
    #[must_use]
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The value of a key, by its literal spelling.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.parts.iter().find(|part| part.key.as_deref() == Some(key)).map(|part| &*part.value)
    }

    /// The first bare value.
    #[must_use]
    pub fn bare(&self) -> Option<&str> {
        self.parts.iter().find(|part| part.key.is_none()).map(|part| &*part.value)
    }
}

impl fmt::Display for PropertyString {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(",")?;
            }
            if let Some(key) = &part.key {
                write!(f, "{key}=")?;
            }
            f.write_str(&part.value)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a34_an_equals_sign_in_a_value_stays() {
        let line = "uuid=11111111-2222-3333-4444-555555555555,serial=QUJDPT0=,base64=1";
        let string = PropertyString::new(line);
        assert_eq!(string.get("serial"), Some("QUJDPT0="));
        assert_eq!(string.to_string(), line);
    }

    proptest! {
        #[test]
        fn every_line_is_printed_as_it_was_read(line: String) {
            prop_assert_eq!(PropertyString::new(&line).to_string(), line);
        }
    }
}
