//! Dated builds and versions, which have an order.

use std::fmt;

/// What tells one build of a release from another.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Serial {
    /// Numbers, the weightiest first.
    order: Vec<u64>,
    /// A build that is no release yet comes before the one that is.
    released: bool,
    text: String,
}

impl Serial {
    /// `20251117-2299`.
    pub(crate) fn debian(text: &str) -> Option<Self> {
        let (day, build) = text.split_once('-')?;
        Some(Self::released(text, vec![date(day)?, number(build)?]))
    }

    /// `20251113`, or `20251113.1` of a second build of that day.
    pub(crate) fn ubuntu(text: &str) -> Option<Self> {
        let (day, build) = text.split_once('.').unwrap_or((text, "0"));
        Some(Self::released(text, vec![date(day)?, number(build)?]))
    }

    /// `v1.11.5`, or with more after a dash.
    pub(crate) fn talos(text: &str) -> Option<Self> {
        let rest = text.strip_prefix('v')?;
        let (numbers, more) = rest.split_once('-').map_or((rest, None), |(a, b)| (a, Some(b)));
        let order = numbers.split('.').map(number).collect::<Option<Vec<u64>>>()?;
        let fits = |more: &str| {
            !more.is_empty()
                && more.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
        };
        if order.len() != 3 || !more.is_none_or(fits) {
            return None;
        }
        Some(Self { order, released: more.is_none(), text: text.to_owned() })
    }

    /// Whether it is meant for use.
    pub(crate) fn is_released(&self) -> bool {
        self.released
    }

    fn released(text: &str, order: Vec<u64>) -> Self {
        Self { order, released: true, text: text.to_owned() }
    }
}

impl fmt::Display for Serial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn number(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if digits { text.parse().ok() } else { None }
}

/// A day of this century that is in a calendar.
fn date(text: &str) -> Option<u64> {
    let day = number(text).filter(|_| text.len() == 8 && text.starts_with("20"))?;
    ((1..=12).contains(&(day / 100 % 100)) && (1..=31).contains(&(day % 100))).then_some(day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_are_in_order() {
        let debian = ["20250101-1", "20251117-299", "20251117-2299", "20260101-2100"];
        let ubuntu = ["20251113", "20251113.1", "20251113.10", "20260101"];
        let talos = ["v1.9.9", "v1.11.5-beta.1", "v1.11.5", "v1.12.0"];
        for (texts, read) in [
            (debian, Serial::debian as fn(&str) -> Option<Serial>),
            (ubuntu, Serial::ubuntu),
            (talos, Serial::talos),
        ] {
            let serials: Vec<Serial> = texts.iter().map(|text| read(text).unwrap()).collect();
            assert!(serials.is_sorted(), "{serials:?}");
            assert_eq!(serials.iter().map(Serial::to_string).collect::<Vec<_>>(), texts);
        }
    }

    #[test]
    fn what_moves_is_no_build() {
        for text in [
            "",
            "latest",
            "current",
            "daily",
            "20251117",
            "20251317-1",
            "20250132-1",
            "20251117-",
            "1999-1",
        ] {
            assert_eq!(Serial::debian(text), None, "{text}");
        }
        for text in ["", "current", "2025111", "20251113.", "20251113.x", "release-20251113"] {
            assert_eq!(Serial::ubuntu(text), None, "{text}");
        }
        for text in ["", "latest", "1.11.5", "v1.11", "v1.11.5-", "v1.11.5/..", "v1.11.5-a/b"] {
            assert_eq!(Serial::talos(text), None, "{text}");
        }
        assert!(!Serial::talos("v1.12.0-alpha.0").unwrap().is_released());
    }
}
