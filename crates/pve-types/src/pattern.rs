//! A name with `*` and `?`, as shells have it.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// A pattern for names: `*` stands for any characters, `?` for one; everything else for itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern(String);

impl Pattern {
    /// Whether a name is of this pattern.
    #[must_use]
    pub fn matches(&self, name: &str) -> bool {
        let (pattern, name): (Vec<char>, Vec<char>) =
            (self.0.chars().collect(), name.chars().collect());
        // the last `*` and how much of the name it takes so far: enough to go back to
        let (mut at, mut seen, mut star) = (0, 0, None);
        while seen < name.len() {
            match pattern.get(at) {
                Some('*') => {
                    star = Some((at, seen));
                    at += 1;
                }
                Some(c) if *c == '?' || *c == name[seen] => {
                    at += 1;
                    seen += 1;
                }
                _ => match star {
                    Some((place, taken)) => {
                        star = Some((place, taken + 1));
                        at = place + 1;
                        seen = taken + 1;
                    }
                    None => return false,
                },
            }
        }
        pattern[at..].iter().all(|c| *c == '*')
    }
}

impl FromStr for Pattern {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text.is_empty() {
            return Err(ParseError::new("a pattern", text, "at least one character"));
        }
        Ok(Self(text.to_owned()))
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

text_type!(Pattern);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_of_shells() {
        for (pattern, name, matches) in [
            ("web1", "web1", true),
            ("web1", "web10", false),
            ("web*", "web", true),
            ("web*", "db-web", false),
            ("*web*", "db-web-2", true),
            ("web?", "web1", true),
            ("web?", "web", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-b-b", false),
            ("*", "", true),
            ("?*", "", false),
            ("w[e]b", "web", false),
        ] {
            let pattern: Pattern = pattern.parse().unwrap();
            assert_eq!(pattern.matches(name), matches, "{pattern} {name}");
        }
        assert!("".parse::<Pattern>().is_err());
    }
}
