//! The size of a disk.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// A number of bytes, written as PVE writes it: the largest unit that divides it, `64M`, `8G`,
/// `528K`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u64);

const UNITS: [(char, u64); 4] = [('T', 1 << 40), ('G', 1 << 30), ('M', 1 << 20), ('K', 1 << 10)];

impl Size {
    /// A size in bytes.
    #[must_use]
    pub fn from_bytes(bytes: u64) -> Self {
        Self(bytes)
    }

    /// The number of bytes.
    #[must_use]
    pub fn bytes(self) -> u64 {
        self.0
    }

    /// The number for `STORAGE:SIZE`, which counts in GiB: `8`, `0.5`.
    #[must_use]
    pub fn gib(self) -> String {
        let (whole, rest) = (self.0 >> 30, self.0 & ((1 << 30) - 1));
        if rest == 0 {
            return whole.to_string();
        }
        // 2^-30 has 30 decimals at most, so nine are cut and the last is rounded up: PVE rounds
        // down to KiB, and a disk one KiB too small is one that may not be grown back.
        let decimals = (u128::from(rest) * 1_000_000_000).div_ceil(1 << 30);
        let text = format!("{whole}.{decimals:09}");
        text.trim_end_matches('0').to_owned()
    }
}

impl FromStr for Size {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong =
            || ParseError::new("a size", text, "a number with K, M, G or T, for example 8G");
        let (number, unit) = match text.char_indices().last() {
            Some((at, last)) if last.is_ascii_alphabetic() => {
                let unit = UNITS.iter().find(|(letter, _)| letter.eq_ignore_ascii_case(&last));
                (&text[..at], unit.ok_or_else(wrong)?.1)
            }
            _ => (text, 1),
        };
        let (whole, decimals) = number.split_once('.').unwrap_or((number, ""));
        let digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || !digits(whole) || !digits(decimals) || decimals.len() > 12 {
            return Err(wrong());
        }
        if number.contains('.') && (decimals.is_empty() || unit == 1) {
            return Err(wrong());
        }
        let whole: u128 = whole.parse().map_err(|_| wrong())?;
        let mut bytes = whole.checked_mul(unit.into()).ok_or_else(wrong)?;
        if let Ok(part) = decimals.parse::<u128>() {
            bytes +=
                part * u128::from(unit) / 10_u128.pow(u32::try_from(decimals.len()).unwrap_or(12));
        }
        u64::try_from(bytes).map(Self).map_err(|_| wrong())
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match UNITS.iter().find(|(_, unit)| self.0 > 0 && self.0.is_multiple_of(*unit)) {
            Some((letter, unit)) => write!(f, "{}{letter}", self.0 / unit),
            None => self.0.fmt(f),
        }
    }
}

text_type!(Size);

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn sizes_print_in_the_largest_unit() {
        for (text, printed) in [
            ("64M", "64M"),
            ("8G", "8G"),
            ("8192M", "8G"),
            ("528K", "528K"),
            ("1024G", "1T"),
            ("0.5G", "512M"),
            ("2.5g", "2560M"),
            ("1000", "1000"),
            ("0", "0"),
        ] {
            assert_eq!(text.parse::<Size>().unwrap().to_string(), printed, "{text}");
        }
        for text in ["", "G", "8GB", "1,5G", "-1G", "8 G", "lots", "1.", "1.5"] {
            assert!(text.parse::<Size>().is_err(), "{text}");
        }
    }

    #[test]
    fn gib_for_allocation() {
        for (text, gib) in [("8G", "8"), ("512M", "0.5"), ("1536M", "1.5"), ("1T", "1024")] {
            assert_eq!(text.parse::<Size>().unwrap().gib(), gib);
        }
    }

    proptest! {
        #[test]
        fn parse_and_print_are_inverse(bytes: u64) {
            let size = Size::from_bytes(bytes);
            prop_assert_eq!(size.to_string().parse::<Size>().unwrap(), size);
        }
    }
}
