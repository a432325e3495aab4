//! What the value of one key may be, where that is no closed set: the limits of PVE's schema
//! (`POST /nodes/{node}/qemu`, 8.4 and 9.2).

/// What a value may be.
#[derive(Debug, Clone, Copy)]
pub enum Limit {
    /// A whole number between these.
    Whole(u64, u64),
    /// A number between these.
    Number(f64, f64),
    /// A text of this form, and what that is for people.
    Form(fn(&str) -> bool, &'static str),
}

impl Limit {
    /// Any number from 0 up.
    pub(crate) const ANY: Self = Self::Number(0.0, f64::MAX);
    /// A number of devices' identities: `0x8086`.
    pub(super) const HEX: Self = Self::Form(is_hex_id, "0x and four hexadecimal digits");
    /// Numbers and ranges of them: `0-3;5`.
    pub(super) const RANGES: Self = Self::Form(is_ranges, "numbers or ranges joined by ';': 0-3;5");

    /// Checks a value.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn check(self, value: &str) -> Result<(), String> {
        let number = value.parse::<f64>().ok().filter(|number| number.is_finite());
        match self {
            Self::Whole(least, most) => {
                let whole = value.parse::<u64>().ok();
                if whole.is_some_and(|number| (least..=most).contains(&number)) {
                    return Ok(());
                }
                Err(format!("'{value}' is not {}", span("a whole number", least, most, u64::MAX)))
            }
            Self::Number(least, most) => {
                if number.is_some_and(|number| (least..=most).contains(&number)) {
                    return Ok(());
                }
                Err(format!("'{value}' is not {}", span("a number", least, most, f64::MAX)))
            }
            Self::Form(is_so, form) => {
                if is_so(value) {
                    return Ok(());
                }
                Err(format!("'{value}' is not of the form: {form}"))
            }
        }
    }
}

fn span<T: PartialEq + std::fmt::Display>(what: &str, least: T, most: T, endless: T) -> String {
    if most == endless {
        format!("{what} from {least} up")
    } else {
        format!("{what} from {least} to {most}")
    }
}

fn is_hex_id(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| has_hex(digits, 4))
}

/// Whether a text is so many hexadecimal digits.
pub(super) fn has_hex(text: &str, count: usize) -> bool {
    text.len() == count && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Whether a text is a number.
pub(super) fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_ranges(text: &str) -> bool {
    text.split(';').all(|part| match part.split_once('-') {
        Some((from, to)) => is_digits(from) && is_digits(to),
        None => is_digits(part),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_outside_says_what_is_inside() {
        for (limit, value, text) in [
            (Limit::Whole(1, 4094), "4095", "'4095' is not a whole number from 1 to 4094"),
            (Limit::Whole(1, u64::MAX), "0", "'0' is not a whole number from 1 up"),
            (Limit::Whole(1, 9), "1.5", "'1.5' is not a whole number from 1 to 9"),
            (Limit::Whole(1, 9), "9", ""),
            (Limit::Number(0.0, 128.0), "128.5", "'128.5' is not a number from 0 to 128"),
            (Limit::Number(0.0, 128.0), "0.5", ""),
            (Limit::ANY, "NaN", "'NaN' is not a number from 0 up"),
            (Limit::ANY, "inf", "'inf' is not a number from 0 up"),
            (Limit::ANY, "abc", "'abc' is not a number from 0 up"),
            (Limit::ANY, "-1", "'-1' is not a number from 0 up"),
            (Limit::HEX, "0x8086", ""),
            (Limit::HEX, "8086", "'8086' is not of the form: 0x and four hexadecimal digits"),
            (Limit::RANGES, "0-3;5", ""),
            (Limit::RANGES, "0-;5", "'0-;5' is not of the form: numbers or ranges joined by ';'"),
        ] {
            let said = limit.check(value).err().unwrap_or_default();
            assert!(said.starts_with(text) && said.is_empty() == text.is_empty(), "{said}");
        }
    }
}
