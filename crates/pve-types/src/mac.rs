//! The hardware address of a network interface.

use std::fmt;
use std::str::FromStr;

use crate::ParseError;
use crate::text::text_type;

/// A MAC address. Case and separators do not matter; it prints as PVE generates it,
/// `BC:24:11:00:00:01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MacAddress([u8; 6]);

impl MacAddress {
    /// The bytes.
    #[must_use]
    pub fn octets(self) -> [u8; 6] {
        self.0
    }

    /// Whether it names no interface: a loopback or a tunnel reports all zeros.
    #[must_use]
    pub fn is_zero(self) -> bool {
        self.0 == [0; 6]
    }

    /// Whether it addresses more than one interface, so that no NIC may have it.
    #[must_use]
    pub fn is_multicast(self) -> bool {
        self.0[0] & 1 == 1
    }
}

impl FromStr for MacAddress {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::new("a MAC address", text, "six pairs of hexadecimal digits");
        let digits: Vec<u8> = text
            .trim()
            .chars()
            .filter(|c| !matches!(c, ':' | '-' | '.'))
            .map(|c| c.to_digit(16).and_then(|digit| u8::try_from(digit).ok()))
            .collect::<Option<_>>()
            .ok_or_else(wrong)?;
        if digits.len() != 12 {
            return Err(wrong());
        }
        let mut octets = [0; 6];
        for (octet, pair) in octets.iter_mut().zip(digits.chunks(2)) {
            *octet = pair[0] << 4 | pair[1];
        }
        Ok(Self(octets))
    }
}

impl fmt::Display for MacAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02X}:{b:02X}:{c:02X}:{d:02X}:{e:02X}:{g:02X}")
    }
}

text_type!(MacAddress);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_and_separators_do_not_matter() {
        for text in [
            "BC:24:11:AA:BB:01",
            "bc:24:11:aa:bb:01",
            "bc-24-11-aa-bb-01",
            "bc24.11aa.bb01",
            "BC2411AABB01",
        ] {
            assert_eq!(text.parse::<MacAddress>().unwrap().to_string(), "BC:24:11:AA:BB:01");
        }
        for text in ["", "bc:24:11:aa:bb", "bc:24:11:aa:bb:0g", "bc:24:11:aa:bb:01:02"] {
            assert!(text.parse::<MacAddress>().is_err(), "{text}");
        }
    }
}
