//! Reads the zone that is set, and looks for the one that is wanted.

use std::path::Path;

use managed_node::{Kind, Node};

use crate::error::Error;

pub(crate) const ZONES: &str = "/usr/share/zoneinfo";
pub(crate) const LOCALTIME: &str = "/etc/localtime";
pub(crate) const TIMEZONE: &str = "/etc/timezone";

/// The zone by both files.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Found {
    /// The zone of the link; none if it is absent, a copy of a file, or leads elsewhere.
    pub(crate) localtime: Option<String>,
    /// The whole text of the other file.
    pub(crate) timezone: Option<String>,
}

pub(crate) fn observe(name: &str, node: &Node) -> Result<Found, Error> {
    known(name, node)?;
    let localtime = match node.kind(LOCALTIME)? {
        Some(Kind::Link(target)) => zone_of(&target),
        Some(Kind::Folder) => return Err(Error::Folder { path: LOCALTIME }),
        _ => None,
    };
    Ok(Found { localtime, timezone: node.read_text_if_any(TIMEZONE)? })
}

/// Refuses what cannot be a zone, before anything is looked at.
pub(crate) fn form(name: &str) -> Result<(), Error> {
    let plain = name.split('/').all(|part| !part.is_empty() && !part.starts_with('.'));
    let allowed = |c: char| c.is_ascii_alphanumeric() || "/_+-".contains(c);
    if plain && name.chars().all(allowed) {
        Ok(())
    } else {
        Err(Error::Form { name: name.to_owned() })
    }
}

fn known(name: &str, node: &Node) -> Result<(), Error> {
    if node.list(ZONES)?.is_empty() {
        return Err(Error::NoData { folder: ZONES });
    }
    // beside the zones there are tables and leap seconds in the folder
    match node.read(Path::new(ZONES).join(name)) {
        Ok(bytes) if bytes.starts_with(b"TZif") => Ok(()),
        _ => Err(Error::Unknown { name: name.to_owned(), hint: hint(name, node) }),
    }
}

/// The zone that was probably meant: one that differs in case, or in the missing area.
fn hint(name: &str, node: &Node) -> String {
    let text = ["tzdata.zi", "zone1970.tab", "zone.tab"]
        .iter()
        .find_map(|file| node.read_text_if_any(Path::new(ZONES).join(file)).ok().flatten())
        .unwrap_or_default();
    let wanted = name.rsplit('/').next().unwrap_or(name).to_ascii_lowercase();
    text.split_whitespace()
        .filter(|word| word.contains('/'))
        .find(|word| {
            word.rsplit('/').next().is_some_and(|last| last.to_ascii_lowercase() == wanted)
        })
        .map(|zone| format!(" (did you mean {zone}?)"))
        .unwrap_or_default()
}

fn zone_of(target: &Path) -> Option<String> {
    let target = target.to_str()?;
    // timedatectl writes a relative link, dpkg an absolute one
    let rest = target.strip_prefix("..").unwrap_or(target);
    rest.strip_prefix("/usr/share/zoneinfo/").map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_by_their_form() {
        for (name, good) in [
            ("Europe/Vienna", true),
            ("Etc/GMT+3", true),
            ("America/Argentina/Ushuaia", true),
            ("UTC", true),
            ("", false),
            ("/etc/passwd", false),
            ("../../../etc/passwd", false),
            ("Europe/./Vienna", false),
            ("Europe/", false),
            ("Europe/Vienna\n", false),
        ] {
            assert_eq!(form(name).is_ok(), good, "{name:?}");
        }
        assert_eq!(
            form("x y").unwrap_err().to_string(),
            "name 'x y' is not the name of a time zone, for example Europe/Vienna"
        );
    }

    #[test]
    fn links_of_both_kinds_are_read() {
        for (target, zone) in [
            ("/usr/share/zoneinfo/Etc/UTC", Some("Etc/UTC")),
            ("../usr/share/zoneinfo/Europe/Vienna", Some("Europe/Vienna")),
            ("/srv/zone", None),
        ] {
            assert_eq!(zone_of(Path::new(target)).as_deref(), zone);
        }
    }
}
