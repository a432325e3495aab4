//! Settings that not every PVE knows. A version between those that were looked at is not judged: the
//! server knows better.

use std::collections::BTreeMap;

use pve_client::{Client, Version};
use pve_types::{Setting, slot};

use crate::change::{Change, From};
use crate::plan::create::is_drive;

/// What is known of a setting.
#[derive(Debug, Clone, Copy)]
enum Known {
    /// This version has it, and all below the other have not.
    Since(&'static str, [u32; 3]),
    /// This version has it, and all from the other up have not.
    Until(&'static str, [u32; 3]),
}

/// 8.4.1 is the last version that was seen without these.
const LATER: Known = Known::Since("PVE 9.2", [8, 4, 2]);

/// What is known of a key, or of one of its sub-options.
fn known(key: &str, option: Option<&str>) -> Option<Known> {
    let family = slot(key).map_or(key, |(family, _)| family);
    match (family, option) {
        ("ciupgrade", None) => Some(Known::Since("PVE 8.0", [8, 0, 0])),
        ("allow-ksm" | "intel-tdx", None)
        | ("agent", Some("freeze-fs"))
        | ("efidisk", Some("ms-cert"))
        | ("machine", Some("aw-bits"))
        | ("net", Some("host-tunnel"))
        | ("tpmstate", Some("format")) => Some(LATER),
        (_, Some("cyls" | "heads" | "secs" | "trans")) if is_drive(key) => {
            Some(Known::Until("PVE 8.4", [9, 2, 0]))
        }
        _ => None,
    }
}

/// What this server does not know of a plan. It is asked for its version only if that matters.
pub(super) async fn problems(client: &Client, plan: &[Change]) -> Vec<String> {
    let asked: Vec<(String, Known)> = plan.iter().flat_map(of_change).collect();
    if asked.is_empty() {
        return Vec::new();
    }
    let Ok(version) = client.version().await else { return Vec::new() };
    asked.iter().filter_map(|(what, known)| unknown(what, *known, &version)).collect()
}

fn of_change(change: &Change) -> Vec<(String, Known)> {
    let none = BTreeMap::new();
    let (set, before, left_out) = match change {
        Change::Create(creation) => match creation.from {
            // a default of ours is left out where it is not known
            From::Config { unasked } => (&creation.config, &none, unasked.then_some("ciupgrade")),
            From::Clone { .. } | From::Archive { .. } => return Vec::new(),
        },
        Change::Set(edit) => (&edit.set, &edit.before, None),
        _ => return Vec::new(),
    };
    let mut asked = Vec::new();
    for (key, line) in set.iter().filter(|(key, _)| Some(key.as_str()) != left_out) {
        asked.extend(known(key, None).map(|known| (format!("{key}: "), known)));
        let Setting::Line(grammar) = Setting::of(key) else { continue };
        let had = before.get(key).map(|line| grammar.options(line)).unwrap_or_default();
        let added = grammar.options(line).into_keys().filter(|option| !had.contains_key(option));
        asked.extend(
            added.filter_map(|option| {
                Some((format!("{key}: {option}: "), known(key, Some(&option))?))
            }),
        );
    }
    asked
}

fn unknown(what: &str, known: Known, version: &Version) -> Option<String> {
    let number = version.number()?;
    let text = match known {
        Known::Since(first, from) if number < from => format!("{first} knows it"),
        Known::Until(last, from) if number >= from => format!("{last} knew it"),
        _ => return None,
    };
    Some(format!("{what}{text}, and this is {}, which does not: leave it out", version.version))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b31_what_a_server_of_another_version_does_not_know() {
        for (key, option, version, text) in [
            ("ciupgrade", None, "7.4-17", "PVE 8.0 knows it, and this is 7.4-17, which does not"),
            ("ciupgrade", None, "8.0.3", ""),
            ("allow-ksm", None, "8.4.1", "PVE 9.2 knows it, and this is 8.4.1"),
            ("allow-ksm", None, "8.4.14", ""),
            ("agent", Some("freeze-fs"), "8.4.1", "PVE 9.2 knows it"),
            ("net3", Some("host-tunnel"), "8.4.1", "PVE 9.2 knows it"),
            ("net3", Some("host-tunnel"), "9.2.11", ""),
            ("machine", Some("aw-bits"), "8.4.1", "PVE 9.2 knows it"),
            ("efidisk0", Some("ms-cert"), "8.4.1", "PVE 9.2 knows it"),
            ("tpmstate0", Some("format"), "8.4.1", "PVE 9.2 knows it"),
            ("scsi0", Some("format"), "8.4.1", ""),
            ("scsi0", Some("cyls"), "9.2.11", "PVE 8.4 knew it, and this is 9.2.11"),
            ("scsi0", Some("cyls"), "8.4.1", ""),
            ("net0", Some("secs"), "9.2.11", ""),
            ("allow-ksm", None, "unheard of", ""),
        ] {
            let version = Version { version: version.into(), release: String::new() };
            let said = known(key, option).and_then(|known| unknown("", known, &version));
            let said = said.unwrap_or_default();
            let right = said.starts_with(text) && said.is_empty() == text.is_empty();
            assert!(right, "{key} {option:?} {version:?}: {said}");
        }
    }
}
