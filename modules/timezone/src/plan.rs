//! What would have to change.

use std::fmt;

use crate::observe::{Found, LOCALTIME, TIMEZONE};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Point the link at the zone.
    Link { name: String },
    /// Write the zone's name.
    Name { name: String },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Link { name } => write!(f, "point {LOCALTIME} at {name}"),
            Self::Name { name } => write!(f, "write {name} to {TIMEZONE}"),
        }
    }
}

pub(crate) fn plan(name: &str, found: &Found) -> Vec<Change> {
    let mut plan = Vec::new();
    if found.localtime.as_deref() != Some(name) {
        plan.push(Change::Link { name: name.to_owned() });
    }
    if found.timezone != Some(format!("{name}\n")) {
        plan.push(Change::Name { name: name.to_owned() });
    }
    plan
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        let link = "point /etc/localtime at Europe/Vienna";
        let name = "write Europe/Vienna to /etc/timezone";
        for (case, localtime, timezone, wanted) in [
            ("nothing is set", None, None, vec![link, name]),
            ("all is set", Some("Europe/Vienna"), Some("Europe/Vienna\n"), vec![]),
            ("the files differ", Some("Europe/Vienna"), Some("Etc/UTC\n"), vec![name]),
            ("another zone", Some("Etc/UTC"), Some("Etc/UTC\n"), vec![link, name]),
            ("no newline", Some("Europe/Vienna"), Some("Europe/Vienna"), vec![name]),
        ] {
            let found = Found {
                localtime: localtime.map(ToOwned::to_owned),
                timezone: timezone.map(ToOwned::to_owned),
            };
            let plan: Vec<String> =
                plan("Europe/Vienna", &found).iter().map(ToString::to_string).collect();
            assert_eq!(plan, wanted, "{case}");
        }
    }
}
