//! The labels of a guest.

use std::collections::BTreeSet;
use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// The labels of a guest: lower case, each once, sorted, as PVE keeps them with its default tag
/// style. Read from `;`, `,` or blanks between them.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tags(BTreeSet<String>);

impl Tags {
    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The labels in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        self.0.iter().map(String::as_str)
    }

    /// Whether this label is among them, whatever its case.
    #[must_use]
    pub fn contains(&self, tag: &str) -> bool {
        self.0.contains(&tag.to_lowercase())
    }
}

impl FromStr for Tags {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut tags = BTreeSet::new();
        for tag in text.split([';', ',', ' ', '\0', '\n', '\t']).filter(|tag| !tag.is_empty()) {
            let edge = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !tag.starts_with(edge)
                || !tag.chars().all(|c| c.is_ascii_alphanumeric() || "_-+.".contains(c))
            {
                return Err(ParseError::new(
                    "a tag",
                    tag,
                    "letters, digits and '_', after the first also '-', '+' and '.'",
                ));
            }
            tags.insert(tag.to_lowercase());
        }
        Ok(Self(tags))
    }
}

impl fmt::Display for Tags {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, tag) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(";")?;
            }
            f.write_str(tag)?;
        }
        Ok(())
    }
}

text_type!(Tags);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a33_all_separators_are_one() {
        for (text, printed) in [
            ("prod;web", "prod;web"),
            ("prod,web", "prod;web"),
            (" prod ; web ", "prod;web"),
            ("web prod", "prod;web"),
            ("web;Prod,b_1 alpha", "alpha;b_1;prod;web"),
            ("web;WEB;web", "web"),
            ("", ""),
            (" ", ""),
        ] {
            let tags: Tags = text.parse().unwrap();
            assert_eq!(tags.to_string(), printed, "{text}");
            assert_eq!(tags.to_string().parse::<Tags>().unwrap(), tags);
        }
        assert!("Prod".parse::<Tags>().unwrap().contains("pROD"));
    }

    #[test]
    fn a_bad_tag_is_named() {
        let error = "prod;we/b".parse::<Tags>().unwrap_err().to_string();
        assert!(error.contains("'we/b' is not a tag"), "{error}");
    }
}
