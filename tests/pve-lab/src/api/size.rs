//! Sizes as PVE writes them: `64M`, `1G`, `528K`.

const UNITS: [(char, u64); 4] = [('K', 1 << 10), ('M', 1 << 20), ('G', 1 << 30), ('T', 1 << 40)];

/// Bytes of a size text; a plain number is bytes.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let unit = text.chars().last()?;
    let factor = UNITS.iter().find(|(letter, _)| *letter == unit).map(|(_, factor)| *factor);
    let digits = if factor.is_some() { &text[..text.len() - 1] } else { text };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit() || b == b'.') {
        return None;
    }
    let factor = factor.unwrap_or(1);
    let mut bytes = whole.parse::<u64>().ok()?.checked_mul(factor)?;
    if !fraction.is_empty() {
        let digits = u32::try_from(fraction.len()).ok()?;
        bytes += fraction.parse::<u64>().ok()?.checked_mul(factor)? / 10_u64.checked_pow(digits)?;
    }
    Some(bytes)
}

/// The canonical text: the largest unit that divides it.
pub(crate) fn print(bytes: u64) -> String {
    UNITS
        .iter()
        .rev()
        .find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor))
        .map_or_else(|| bytes.to_string(), |(letter, factor)| format!("{}{letter}", bytes / factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_printed_with_the_largest_unit_that_divides_them() {
        for (text, bytes, canonical) in [
            ("64M", 64 << 20, "64M"),
            ("1024M", 1 << 30, "1G"),
            ("540672", 540_672, "528K"),
            ("1.5G", 3 << 29, "1536M"),
            ("512", 512, "512"),
        ] {
            assert_eq!(parse(text), Some(bytes), "{text}");
            assert_eq!(print(bytes), canonical, "{text}");
        }
        assert_eq!(parse("1GB"), None);
    }
}
