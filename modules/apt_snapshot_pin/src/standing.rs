//! Sources that are a snapshot although no pin of this module says what they were before.
//!
//! They are found when the memory was lost, or when somebody wrote a snapshot by hand. What they
//! were cannot be known: `deb.debian.org` and a mirror next door have the same snapshot. So
//! nothing is guessed, and the way back is not called done.

use crate::archive;
use crate::params::Params;
use crate::pinning::{self, SourceFile};
use crate::snapshot_id::SnapshotId;
use crate::sources::Entry;

/// Why such a source is told of.
pub(crate) const REASON: &str = "a snapshot, and what it was before is not remembered";

/// What the archive of a snapshot is called where it is live, as advice.
fn live(uri: &str) -> Option<String> {
    let (scheme, _) = uri.split_once("://")?;
    let (before, last) = archive::path(uri)?.rsplit_once('/')?;
    last.parse::<SnapshotId>().ok()?;
    match (archive::host(uri)?, before.split_once('/')) {
        (
            "snapshot.debian.org",
            Some((
                "archive",
                area @ ("debian" | "debian-security" | "debian-debug" | "debian-ports"),
            )),
        ) => Some(format!("{scheme}://deb.debian.org/{area}")),
        ("snapshot.ubuntu.com", None) => Some(format!(
            "{scheme}://archive.ubuntu.com/ubuntu (on ports {scheme}://ports.ubuntu.com/ubuntu-ports)"
        )),
        ("snapshot.ppa.launchpadcontent.net", Some(_)) => {
            Some(format!("{scheme}://ppa.launchpadcontent.net/{before}"))
        }
        _ => None,
    }
}

/// Whether a URI has the name of a snapshot in its path.
fn dated(uri: &str) -> bool {
    archive::path(uri)
        .is_some_and(|path| path.split('/').any(|part| part.parse::<SnapshotId>().is_ok()))
}

/// Whether apt takes one of an entry's URIs from a snapshot.
pub(crate) fn is_snapshot(entry: &Entry, uri: &str) -> bool {
    dated(uri) || entry.snapshot.as_deref().is_some_and(|id| id.parse::<SnapshotId>().is_ok())
}

/// The sources that are snapshots, each with what to do; those that may stay are left out.
pub(crate) fn find(params: &Params, files: &[SourceFile]) -> Vec<String> {
    let mut found = Vec::new();
    for (file, entry) in pinning::entries(files) {
        for uri in entry.uris.iter().filter(|uri| is_snapshot(&entry, uri)) {
            let named = |name: &String| pinning::names(name, &file.path, uri, None);
            if params.allow_unpinned.iter().any(named) {
                continue;
            }
            let place = pinning::place(file, &entry, uri);
            let advice = if !dated(uri) {
                "take its Snapshot option out".to_owned()
            } else if let Some(live) = live(uri) {
                format!("set its URI to {live}, or to your mirror")
            } else {
                "set its URI to the live archive".to_owned()
            };
            found.push(format!("{place}: {advice}"));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Form;

    #[test]
    fn snapshots_are_told_from_live_archives() {
        for (line, advice) in [
            ("deb http://deb.debian.org/debian trixie main", None),
            ("deb file:/srv/20250601T000000Z trixie main", None),
            ("# deb http://snapshot.debian.org/archive/debian/20250601T000000Z trixie main", None),
            ("deb [snapshot=enable] http://deb.debian.org/debian trixie main", None),
            (
                "deb http://snapshot.debian.org/archive/debian/20250601T000000Z/ trixie main",
                Some("set its URI to http://deb.debian.org/debian, or to your mirror"),
            ),
            (
                "deb https://snapshot.debian.org/archive/debian-security/20250601T000000Z x main",
                Some("set its URI to https://deb.debian.org/debian-security, or to your mirror"),
            ),
            (
                "deb http://snapshot.ubuntu.com/ubuntu/20250601T000000Z noble main",
                Some(
                    "set its URI to http://archive.ubuntu.com/ubuntu (on ports \
                     http://ports.ubuntu.com/ubuntu-ports), or to your mirror",
                ),
            ),
            (
                "deb https://snapshot.ppa.launchpadcontent.net/a/b/ubuntu/20250601T000000Z noble main",
                Some(
                    "set its URI to https://ppa.launchpadcontent.net/a/b/ubuntu, or to your mirror",
                ),
            ),
            (
                "deb https://snap.example/20250601T000000Z/debian trixie main",
                Some("set its URI to the live archive"),
            ),
            (
                "deb [snapshot=20250601T000000Z] http://deb.debian.org/debian trixie main",
                Some("take its Snapshot option out"),
            ),
        ] {
            let path = "/etc/apt/sources.list".to_owned();
            let files = [SourceFile { path, form: Form::OneLine, text: format!("{line}\n") }];
            let params = serde_json::from_value(serde_json::json!({"state": "absent"})).unwrap();
            let found = find(&params, &files);
            let advices: Vec<_> =
                found.iter().filter_map(|text| Some(text.split_once("line 1): ")?.1)).collect();
            assert_eq!(found.len(), usize::from(advice.is_some()), "{line}: {found:?}");
            assert_eq!(advices.first().copied(), advice, "{line}");
            let stays = serde_json::json!({"state": "absent", "allow_unpinned": ["sources.list"]});
            assert!(find(&serde_json::from_value(stays).unwrap(), &files).is_empty(), "{line}");
        }
    }
}
