//! The name of a snapshot: a moment in UTC, `YYYYMMDDTHHMMSSZ`.
//!
//! apt takes any text for an id and only learns from a 404 that there is no such snapshot, so form
//! and range are checked here, before anything is fetched.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::Error;

/// A moment of an archive, to the second.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub(crate) struct SnapshotId(String);

impl SnapshotId {
    /// The id as written.
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }

    /// Refuses an id later than `now` (seconds since 1970) on the node's own clock.
    pub(crate) fn not_after(&self, now: u64) -> Result<(), Error> {
        let clock = Self::at(now);
        if self.0 > clock.0 {
            Err(Error::FutureId { id: self.0.clone(), clock: clock.0 })
        } else {
            Ok(())
        }
    }

    /// The id of a moment, in seconds since 1970.
    pub(crate) fn at(seconds: u64) -> Self {
        let (days, rest) = (seconds / 86_400, seconds % 86_400);
        // civil date from a day count: years begin in March, so that the leap day ends a year
        let days = days + 719_468;
        let (era, day_of_era) = (days / 146_097, days % 146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let march_month = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * march_month + 2) / 5 + 1;
        let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
        let year = era * 400 + year_of_era + u64::from(month <= 2);
        let (hour, minute, second) = (rest / 3_600, rest % 3_600 / 60, rest % 60);
        Self(format!("{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}Z"))
    }
}

impl FromStr for SnapshotId {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let bad = || Error::BadId { id: text.to_owned() };
        let bytes = text.as_bytes();
        let form = bytes.len() == 16
            && bytes.iter().enumerate().all(|(at, byte)| match at {
                8 => *byte == b'T',
                15 => *byte == b'Z',
                _ => byte.is_ascii_digit(),
            });
        if !form {
            return Err(bad());
        }
        let number = |range: std::ops::Range<usize>| text[range].parse::<u32>().unwrap_or(u32::MAX);
        let (year, month, day) = (number(0..4), number(4..6), number(6..8));
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let days = match month {
            1 | 3 | 5 | 7 | 8 | 10 | 12 => 31,
            4 | 6 | 9 | 11 => 30,
            2 => 28 + u32::from(leap),
            _ => return Err(bad()),
        };
        let time = number(9..11) < 24 && number(11..13) < 60 && number(13..15) < 60;
        if (1..=days).contains(&day) && time { Ok(Self(text.to_owned())) } else { Err(bad()) }
    }
}

impl TryFrom<String> for SnapshotId {
    type Error = Error;

    fn try_from(text: String) -> Result<Self, Error> {
        text.parse()
    }
}

impl From<SnapshotId> for String {
    fn from(id: SnapshotId) -> Self {
        id.0
    }
}

impl fmt::Display for SnapshotId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g56_only_the_full_form_is_an_id() {
        for (text, good) in [
            ("yesterday", false),
            ("20260801", false),
            ("20260801T000000", false),
            ("20260801T000000Z", true),
            ("20260801t000000z", false),
            (" 20260801T000000Z", false),
            ("20260801T000000Z\n", false),
            ("20261301T000000Z", false),
            ("20260431T000000Z", false),
            ("20250229T000000Z", false),
            ("20240229T000000Z", true),
            ("20000229T235959Z", true),
            ("19000229T000000Z", false),
            ("20260801T240000Z", false),
            ("20260801T006000Z", false),
            ("2026080١T00000Z", false),
            ("", false),
        ] {
            assert_eq!(text.parse::<SnapshotId>().is_ok(), good, "{text:?}");
        }
        assert_eq!(
            "yesterday".parse::<SnapshotId>().unwrap_err().to_string(),
            "snapshot_id 'yesterday' is not of the form YYYYMMDDTHHMMSSZ, for example \
             20260801T000000Z"
        );
    }

    #[test]
    fn g56_an_id_of_the_future_is_refused() {
        let id: SnapshotId = "20260801T000000Z".parse().unwrap();
        // 2026-08-01 00:00:00 UTC
        assert!(id.not_after(1_785_542_400).is_ok());
        assert_eq!(
            id.not_after(1_785_542_399).unwrap_err().to_string(),
            "snapshot_id '20260801T000000Z' is in the future: the node's clock says \
             20260731T235959Z"
        );
    }

    #[test]
    fn moments_become_ids() {
        for (seconds, id) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_677_628_800, "20230301T000000Z"),
            (1_785_542_399, "20260731T235959Z"),
        ] {
            assert_eq!(SnapshotId::at(seconds).as_str(), id);
        }
    }
}
