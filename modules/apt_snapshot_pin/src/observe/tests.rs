//! Trees of files as several releases have them, with an apt that only tells its configuration.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use ansible_module::Module as _;
use managed_node::Recorder;
use serde_json::json;

use super::*;
use crate::module::AptSnapshotPin;

const DUMP: &str = "APT::Architecture \"amd64\";\nDir \"/\";\nDir::State \"var/lib/apt\";\n\
    Dir::State::lists \"lists/\";\nDir::Etc \"etc/apt\";\nDir::Etc::sourcelist \
    \"sources.list\";\nDir::Etc::sourceparts \"sources.list.d\";\nDir::Etc::parts \
    \"apt.conf.d\";\n";

fn texts(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut texts = BTreeMap::new();
    let mut folders = vec![root.join("etc/apt")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                texts.insert(path.clone(), std::fs::read(path).unwrap());
            }
        }
    }
    texts
}

fn observed(params: &Params, root: &Path) -> (Target, Found) {
    std::fs::create_dir_all(root.join("var/lib/dpkg")).unwrap();
    std::fs::create_dir_all(root.join("var/lib/apt/lists")).unwrap();
    let runner = Rc::new(Recorder::new().on("chroot", 0, DUMP, ""));
    let mut target = AptSnapshotPin::connect(params, &Run::default()).unwrap();
    target.node = target.node.with_runner(runner);
    let found = observe(params, &mut target).unwrap();
    (target, found)
}

/// Observes, plans and applies; gives what is left to do then.
fn converge(params: &Params, root: &Path) -> Vec<String> {
    let (mut target, found) = observed(params, root);
    for change in crate::plan::plan(params, &found).unwrap() {
        AptSnapshotPin::apply(&change, params, &mut target).unwrap();
    }
    let found = observe(params, &mut target).unwrap();
    crate::plan::plan(params, &found).unwrap().iter().map(ToString::to_string).collect()
}

#[test]
fn releases_are_pinned_and_given_back_byte_for_byte() {
    let debian = "snapshot.debian.org/archive/debian";
    for (name, wanted) in [
        (
            "ubuntu-24.04",
            vec![
                ("http://snapshot.ubuntu.com/ubuntu/20250601T000000Z/\n".to_owned(), 2),
                (
                    "https://snapshot.ppa.launchpadcontent.net/git-core/ppa/ubuntu/20250601T000000Z/"
                        .to_owned(),
                    1,
                ),
                ("Check-Valid-Until: no\n".to_owned(), 3),
            ],
        ),
        (
            "ubuntu-22.04",
            vec![
                ("deb [check-valid-until=no] http://snapshot.ubuntu.com/ubuntu/20250601T".to_owned(), 4),
                (
                    "deb [arch=amd64 signed-by=/etc/apt/keyrings/own.gpg check-valid-until=no] \
                     https://snapshot.ppa.launchpadcontent.net/own/tools/ubuntu/20250601T000000Z "
                        .to_owned(),
                    1,
                ),
                ("https://old.example/".to_owned(), 1),
            ],
        ),
        (
            "debian-12-cloud",
            vec![
                (format!("URIs: https://{debian}/20250601T000000Z\n"), 1),
                (format!("URIs: https://{debian}-security/20250601T000000Z\n"), 1),
            ],
        ),
        (
            "debian-11",
            vec![
                (format!("http://{debian}/20250601T000000Z/ bullseye main\n"), 2),
                (format!("http://{debian}-security/20250601T000000Z bullseye-security"), 2),
                ("#deb cdrom:".to_owned(), 1),
            ],
        ),
        (
            "debian-12",
            vec![
                (format!("http://{debian}/20250601T000000Z/ bookworm"), 4),
                (format!("http://{debian}-security/20250601T000000Z bookworm-security"), 2),
                ("# bookworm-updates, to get".to_owned(), 1),
            ],
        ),
        (
            "debian-13",
            vec![
                (format!("URIs: http://{debian}/20250601T000000Z\n"), 1),
                (format!("URIs: http://{debian}-security/20250601T000000Z\n"), 1),
                ("Check-Valid-Until: no\n".to_owned(), 2),
            ],
        ),
        (
            "ubuntu-20.04",
            vec![
                ("http://snapshot.ubuntu.com/ubuntu/20250601T000000Z/ focal".to_owned(), 4),
                ("http://snapshot.ubuntu.com/ubuntu/20250601T000000Z focal-security".to_owned(), 1),
                ("# deb-src http://archive.ubuntu.com".to_owned(), 1),
            ],
        ),
        (
            "ubuntu-26.04",
            vec![
                ("URIs: http://snapshot.ubuntu.com/ubuntu/20250601T000000Z\n".to_owned(), 2),
                ("Check-Valid-Until: no\n".to_owned(), 2),
            ],
        ),
    ] {
        let root = harness::host(name);
        let before = texts(root.path());
        let params = |more: serde_json::Value| -> Params {
            let mut all = json!({"root": root.path(), "update": false});
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            serde_json::from_value(all).unwrap()
        };
        let pin = params(json!({"snapshot_id": "20250601T000000Z"}));
        assert_eq!(converge(&pin, root.path()), [""; 0], "{name}");
        let all: Vec<u8> = texts(root.path()).into_values().flatten().collect();
        let all = String::from_utf8(all).unwrap();
        for (text, count) in wanted {
            assert_eq!(all.matches(&text).count(), count, "{name}: {text} in {all}");
        }
        assert_eq!(converge(&params(json!({"state": "absent"})), root.path()), [""; 0], "{name}");
        assert_eq!(texts(root.path()), before, "{name}");
    }
}

#[test]
fn a_pin_whose_memory_is_lost_is_not_reported_as_taken_away() {
    let root = harness::host("debian-13");
    let before = texts(root.path());
    let params = |more: serde_json::Value| -> Params {
        let mut all = json!({"root": root.path(), "update": false});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    };
    let absent = params(json!({"state": "absent"}));
    let refused = |id: &str| {
        let now = texts(root.path());
        let (_, found) = observed(&absent, root.path());
        let message = crate::plan::plan(&absent, &found).unwrap_err().to_string();
        let archive = "http://snapshot.debian.org/archive/debian";
        for part in [
            "2 of the sources are a snapshot, what they were before is not remembered, and nothing \
             was changed: "
                .to_owned(),
            format!("{archive}/{id} trixie trixie-updates (/etc/apt/sources.list.d/debian.sources stanza 1): \
                     set its URI to http://deb.debian.org/debian, or to your mirror; "),
            format!("{archive}-security/{id} trixie-security (/etc/apt/sources.list.d/debian.sources stanza 2): \
                     set its URI to http://deb.debian.org/debian-security, or to your mirror; "),
            "; those that are to stay are named in allow_unpinned".to_owned(),
        ] {
            assert!(message.contains(&part), "{part:?} is not in {message}");
        }
        assert_eq!(texts(root.path()), now);
    };
    let june = params(json!({"snapshot_id": "20250601T000000Z"}));
    let (_, found) = observed(&june, root.path());
    assert!(found.pinning.standing.is_empty());
    assert_eq!(converge(&june, root.path()), [""; 0]);
    std::fs::remove_dir_all(root.path().join("var/lib/ferrite")).unwrap();
    refused("20250601T000000Z");

    // pinned again, to the same moment and to another: what was before stays unknown
    for id in ["20250601T000000Z", "20250101T000000Z"] {
        let pin = params(json!({"snapshot_id": id}));
        let (_, found) = observed(&pin, root.path());
        assert_eq!(found.pinning.standing.len(), 2);
        assert_eq!(converge(&pin, root.path()), [""; 0]);
        refused("20250601T000000Z");
    }

    let stay = params(json!({"state": "absent", "allow_unpinned": ["snapshot.debian.org"]}));
    let (_, found) = observed(&stay, root.path());
    assert!(crate::plan::plan(&stay, &found).is_ok());

    for (path, text) in before {
        std::fs::write(path, text).unwrap();
    }
    assert_eq!(converge(&absent, root.path()), [""; 0]);
    assert!(!root.path().join("var/lib/ferrite/apt_snapshot_pin").exists());
}
