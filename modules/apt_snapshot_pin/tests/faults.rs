//! What a snapshot server can do wrong, and which requests are made at all. The guest has no Python.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use pve_lab::guests::TestGuest;
use pve_lab::image::Image;
use pve_lab::repository::{Fault, FaultKind};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_apt_snapshot_pin");
const JUNE: &str = "20250601T000000Z";
/// The guests of a process share the package server, and so its faults.
static SERVER: Mutex<()> = Mutex::new(());

fn state(guest: &TestGuest) -> String {
    let output = guest.run(
        "cd / && find etc/apt var/lib/apt var/lib/ferrite -type f ! -path '*/auxfiles/*' -exec \
         sha256sum {} + 2>/dev/null | sort",
    );
    output.stdout
}

fn fault(guest: &TestGuest, prefix: &str, kind: FaultKind) {
    guest.package_server().set_faults(vec![Fault { prefix: prefix.to_owned(), kind }]);
}

fn pin(guest: &TestGuest, args: Value) -> Value {
    guest.module(BINARY, &args)
}

fn candidate(guest: &TestGuest) -> String {
    let policy = "apt-cache policy ferrite-demo | sed -n 's/^  Candidate: //p'";
    guest.run(policy).stdout.trim().to_owned()
}

#[test]
fn g55_whatever_the_server_does_wrong_nothing_is_changed() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let guest = TestGuest::boot_image(Image::without_python());
    let june = json!({"snapshot_id": JUNE});
    let before = state(&guest);
    for (name, prefix, kind, parts) in [
        (
            "one of two archives is signed by somebody else",
            "/archive/debian-security/",
            FaultKind::Forged,
            ["debian.sources stanza 2", "is not signed"],
        ),
        (
            "the moment is not there",
            "/archive/debian/",
            FaultKind::Status(404),
            ["debian.sources stanza 1", "does not have a Release file"],
        ),
        (
            "the Release file is there and the indexes are not",
            "/archive/debian/20250601T000000Z/dists/trixie/main/",
            FaultKind::Status(404),
            ["debian.sources stanza 1", "404"],
        ),
        (
            "the server is out of order",
            "/archive/",
            FaultKind::Status(500),
            ["debian.sources stanza 1", "500"],
        ),
    ] {
        fault(&guest, prefix, kind);
        let check = guest.module_with(BINARY, &june, &json!({"_ansible_check_mode": true}));
        for outcome in [check, pin(&guest, june.clone())] {
            let message = outcome["msg"].as_str().unwrap_or_default();
            assert!(message.contains("nothing was changed"), "{name}: {outcome}");
            for part in parts {
                assert!(message.contains(part), "{name}: {part:?} is not in {message}");
            }
            assert_eq!(state(&guest), before, "{name}");
        }
    }

    // a source that stays unpinned still has its age looked at
    fault(&guest, "/debian-security/", FaultKind::Expired);
    let partly = json!({"snapshot_id": JUNE, "allow_unpinned": ["debian-security"]});
    let outcome = pin(&guest, partly);
    let message = outcome["msg"].as_str().unwrap_or_default();
    assert!(message.contains("expired"), "{outcome}");
    assert_eq!(state(&guest), before);

    // slow is not wrong
    fault(&guest, "/archive/debian/", FaultKind::Late(Duration::from_secs(2)));
    let asked = guest.package_server().requests().len();
    assert_eq!(pin(&guest, june.clone())["changed"], true);
    assert_eq!(candidate(&guest), "2.0");
    let requests = guest.package_server().requests().split_off(asked);
    let live: Vec<_> = requests.iter().filter(|line| line.contains("deb.debian.org")).collect();
    assert!(live.is_empty(), "the live archive was asked: {live:?}");
    assert!(!requests.is_empty());

    // an unchanged pin needs no server
    fault(&guest, "/", FaultKind::Status(500));
    let asked = guest.package_server().requests().len();
    assert_eq!(pin(&guest, june)["changed"], false);
    assert_eq!(guest.package_server().requests().len(), asked);

    // a moment between two snapshots: the server redirects to the earlier one
    guest.package_server().set_faults(Vec::new());
    let march = json!({"snapshot_id": "20250315T000000Z"});
    assert_eq!(pin(&guest, march.clone())["changed"], true);
    assert_eq!(candidate(&guest), "1.0");
    assert_eq!(pin(&guest, march)["changed"], false);
}

#[test]
fn what_was_placed_is_put_back_when_a_later_step_fails() {
    let _server = SERVER.lock().unwrap_or_else(PoisonError::into_inner);
    let guest = TestGuest::boot_image(Image::without_python());
    let june = json!({"snapshot_id": JUNE});
    // a folder where a list has to go: sources are written by then, and some lists are moved
    let folder = "/var/lib/apt/lists/snapshot.debian.org_archive_debian-security_20250601T000000Z_\
                  dists_trixie-security_InRelease";
    assert!(guest.run(&format!("apt-get update && mkdir {folder}")).success());
    let before = state(&guest);
    let outcome = pin(&guest, june.clone());
    assert_eq!(outcome["failed"], true, "{outcome}");
    assert_eq!(outcome["changed"], false, "{outcome}");
    let message = outcome["msg"].as_str().unwrap_or_default();
    assert!(message.starts_with("failed to move /var/lib/apt/"), "{message}");
    assert_eq!(outcome["warnings"], Value::Null, "{outcome}");
    assert_eq!(state(&guest), before);
    assert_eq!(candidate(&guest), "3.0");
    assert!(guest.run(&format!("rmdir {folder}")).success());
    assert_eq!(pin(&guest, june)["changed"], true);
    assert_eq!(candidate(&guest), "2.0");
}
