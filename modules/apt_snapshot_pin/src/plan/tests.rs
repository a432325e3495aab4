//! Tables of plans.

use std::collections::BTreeMap;

use super::*;
use crate::apt::AptConfig;
use crate::params::Method;
use crate::pinning::Pinning;

fn memory(id: &str) -> Memory {
    Memory {
        snapshot_id: id.parse().unwrap(),
        method: Method::Rewrite,
        files: BTreeMap::new(),
        beside: BTreeMap::new(),
        releases: BTreeMap::new(),
    }
}

fn found(before: Option<Memory>, after: Option<Memory>, file: bool, lists: Lists) -> Found {
    let texts = (Some("deb http://me:pw@a x".to_owned()), Some("deb http://s x\n".to_owned()));
    Found {
        apt: AptConfig::parse(""),
        method: Method::Rewrite,
        memory: before,
        wanted_memory: after,
        files: if file { [("/f".to_owned(), texts)].into() } else { BTreeMap::new() },
        pinning: Pinning::default(),
        lists,
    }
}

fn params() -> Params {
    serde_json::from_value(serde_json::json!({"snapshot_id": "20250601T000000Z"})).unwrap()
}

#[test]
fn plans() {
    let new = || Some(memory("20250601T000000Z"));
    let old = || Some(memory("20250101T000000Z"));
    for (name, found, wanted) in [
        ("nothing to do", found(new(), new(), false, Lists::InForce), vec![]),
        (
            "the first pin",
            found(None, new(), true, Lists::Staged),
            vec![
                "remember the sources as they were before the pin to 20250601T000000Z",
                "set /f to the snapshot 20250601T000000Z",
                "put the package lists of the snapshot 20250601T000000Z in force",
            ],
        ),
        (
            "lists that are gone",
            found(new(), new(), false, Lists::Staged),
            vec!["put the package lists of the snapshot 20250601T000000Z in force"],
        ),
        (
            "a spoiled file",
            found(new(), new(), true, Lists::Staged),
            vec![
                "set /f to the snapshot 20250601T000000Z",
                "put the package lists of the snapshot 20250601T000000Z in force",
            ],
        ),
        (
            "another id",
            found(old(), new(), true, Lists::NotAsked),
            vec![
                "remember the sources as they were before the pin to 20250601T000000Z",
                "set /f to the snapshot 20250601T000000Z",
            ],
        ),
        (
            "the way back",
            found(old(), None, true, Lists::Staged),
            vec![
                "set /f to what it was before the pin",
                "put the package lists of the live archives in force",
                "forget the pin",
            ],
        ),
        ("never pinned", found(None, None, false, Lists::NotAsked), vec![]),
    ] {
        let plan: Vec<String> =
            plan(&params(), &found).unwrap().iter().map(ToString::to_string).collect();
        assert_eq!(plan, wanted, "{name}");
    }
}

#[test]
fn g51_what_is_refused_is_listed() {
    let mut found = found(None, Some(memory("20250601T000000Z")), true, Lists::NotAsked);
    found.pinning.refused = vec!["a: reason".into(), "b: other".into()];
    assert_eq!(
        plan(&params(), &found).unwrap_err().to_string(),
        "2 of the sources would not be pinned to 20250601T000000Z, and nothing was changed: a: \
         reason; b: other"
    );
}

#[test]
fn a_snapshot_that_would_stand_is_no_way_back() {
    let mut found = found(None, None, false, Lists::NotAsked);
    found.pinning.standing = vec!["a: advice".into()];
    let absent = serde_json::from_value(serde_json::json!({"state": "absent"})).unwrap();
    assert_eq!(
        plan(&absent, &found).unwrap_err().to_string(),
        "1 of the sources are a snapshot, what they were before is not remembered, and nothing was \
         changed: a: advice; those that are to stay are named in allow_unpinned"
    );
    assert!(plan(&params(), &found).is_ok());
}

#[test]
fn the_diff_shows_files_without_passwords() {
    let found = found(None, None, true, Lists::NotAsked);
    let diff = diff(&plan(&params(), &found).unwrap());
    assert_eq!(diff[0].before, "deb http://***@a x\n");
    assert_eq!(diff[0].after, "deb http://s x\n");
}
