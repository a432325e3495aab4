//! Rows: what is asked for, what is there, what is to be done.

use pve_client::Snapshot;
use serde_json::{Value, json};

use super::plan;
use crate::found::Guest;
use crate::params::Params;

fn params(args: &Value) -> Params {
    let mut all = json!({"api_host": "pve1", "vmid": 101, "snapname": "pre"});
    all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn guest(running: bool, snapshots: &Value) -> Guest {
    let listed: Vec<Snapshot> = serde_json::from_value(snapshots.clone()).unwrap();
    let mut guest = Guest {
        vmid: "101".parse().unwrap(),
        node: "pve1".parse().unwrap(),
        name: "web".into(),
        running,
        status: if running { "running" } else { "stopped" }.into(),
        template: false,
        lock: None,
        snapshots: Vec::new(),
        here: None,
    };
    guest.set_snapshots(listed);
    guest
}

fn lines(args: &Value, guest: Option<&Guest>) -> Vec<String> {
    match plan(&params(args), guest) {
        Ok(plan) => plan.iter().map(ToString::to_string).collect(),
        Err(failure) => vec![format!("! {}", failure.message())],
    }
}

fn nightly() -> Value {
    json!([
        {"name": "nightly-3", "snaptime": 30},
        {"name": "nightly-1", "snaptime": "10"},
        {"name": "by-hand", "snaptime": 5},
        {"name": "nightly-2", "snaptime": 20, "parent": "nightly-1"},
        {"name": "current", "parent": "nightly-3", "running": 1, "digest": "x"},
    ])
}

#[test]
fn b70_what_is_to_be_done() {
    let none = json!([{"name": "current"}]);
    let pre = json!([{"name": "pre", "description": "a\n", "snaptime": 1}, {"name": "current"}]);
    let memory = json!([{"name": "pre", "vmstate": 1}]);
    for (args, running, there, expected) in [
        (json!({}), true, &none, &["take snapshot pre of vm web (101)"][..]),
        (
            json!({"vmstate": true}),
            true,
            &none,
            &["take snapshot pre of vm web (101) with its memory"],
        ),
        (json!({"vmstate": true}), false, &none, &["take snapshot pre of vm web (101)"]),
        (json!({}), true, &pre, &[]),
        (json!({"description": "a"}), true, &pre, &[]),
        (
            json!({"description": "b"}),
            true,
            &pre,
            &["set description of snapshot pre of vm web (101) to \"b\" (was \"a\\n\")"],
        ),
        (
            json!({"description": ""}),
            true,
            &pre,
            &["set description of snapshot pre of vm web (101) to \"\" (was \"a\\n\")"],
        ),
        (json!({"state": "absent"}), true, &none, &[]),
        (json!({"state": "absent"}), true, &pre, &["remove snapshot pre of vm web (101)"]),
        (
            json!({"state": "rollback"}),
            true,
            &pre,
            &["take vm web (101) back to snapshot pre, which stops it"],
        ),
        (
            json!({"state": "rollback", "start": true}),
            true,
            &pre,
            &["take vm web (101) back to snapshot pre, which stops it and starts it again"],
        ),
        (json!({"state": "rollback"}), false, &pre, &["take vm web (101) back to snapshot pre"]),
        (
            json!({"state": "rollback"}),
            false,
            &memory,
            &["take vm web (101) back to snapshot pre and let it run"],
        ),
        (
            json!({"state": "rollback"}),
            true,
            &none,
            &["! vm web (101) has no snapshot pre to go back to: it has none"],
        ),
        (
            json!({"state": "rollback", "snapname": "nightly-9"}),
            true,
            &nightly(),
            &[
                "! vm web (101) has no snapshot nightly-9 to go back to: it has by-hand, nightly-1, \
               nightly-2, nightly-3",
            ],
        ),
    ] {
        assert_eq!(lines(&args, Some(&guest(running, there))), expected, "{args}");
    }
}

#[test]
fn retention_removes_the_oldest_of_its_pattern_and_nothing_else() {
    for (snapname, keep, expected) in [
        ("nightly-4", 4, &["take snapshot nightly-4"][..]),
        ("nightly-4", 3, &["take snapshot nightly-4", "remove snapshot nightly-1"]),
        (
            "nightly-4",
            1,
            &[
                "take snapshot nightly-4",
                "remove snapshot nightly-1",
                "remove snapshot nightly-2",
                "remove snapshot nightly-3",
            ],
        ),
        // taken already by a run that was cut short
        ("nightly-3", 2, &["remove snapshot nightly-1"]),
        // the one that is asked for stays, however old it is
        ("nightly-1", 1, &["remove snapshot nightly-2", "remove snapshot nightly-3"]),
        ("nightly-3", 3, &[]),
    ] {
        let args =
            json!({"snapname": snapname, "retention": keep, "retention_pattern": "nightly-*"});
        let lines = lines(&args, Some(&guest(false, &nightly())));
        let expected: Vec<String> =
            expected.iter().map(|line| format!("{line} of vm web (101)")).collect();
        assert_eq!(lines, expected, "{args}");
    }
}

#[test]
fn what_cannot_be_had() {
    let mut template = guest(false, &json!([]));
    template.template = true;
    assert_eq!(
        lines(&json!({}), Some(&template)),
        ["! vm web (101) is a template, and PVE takes no snapshot of one"]
    );
    let cut = guest(false, &json!([{"name": "pre", "snapstate": "prepare"}]));
    for state in ["present", "rollback"] {
        let lines = lines(&json!({"state": state}), Some(&cut));
        assert!(
            lines[0].contains("snapshot pre of vm web (101) is not whole (prepare)"),
            "{lines:?}"
        );
    }
    assert_eq!(
        lines(&json!({"state": "absent"}), Some(&cut)),
        ["remove snapshot pre of vm web (101)"]
    );
    assert_eq!(lines(&json!({}), None), ["! vm 101 does not exist, or the caller may not see it"]);
    assert_eq!(lines(&json!({"state": "absent"}), None), [""; 0]);
}

#[test]
fn names_that_pve_would_refuse() {
    for (args, text) in [
        (json!({"snapname": "current"}), "'current' is PVE's own word"),
        (json!({"snapname": "pending"}), "'pending' is PVE's own word"),
        (json!({"snapname": "1st"}), "'1st' is not a snapshot's name: a letter, then"),
        (json!({"snapname": "a"}), "from 2 to 40 characters"),
        (json!({"snapname": "pre upgrade"}), "is not a snapshot's name"),
        (json!({"snapname": "b\u{e4}r"}), "is not a snapshot's name"),
        (json!({"snapname": "a".repeat(41)}), "is not a snapshot's name"),
        (json!({"retention": 3}), "retention: give retention_pattern as well"),
        (
            json!({"retention": 3, "retention_pattern": "nightly-*"}),
            "does not match snapname 'pre'",
        ),
        (
            json!({"retention": 3, "retention_pattern": "p*", "snapname": "Pre_1-a", "vmid": 101}),
            "does not match snapname 'Pre_1-a'",
        ),
    ] {
        let mut all = json!({"api_token_id": "a@pve!b", "api_token_secret": "x"});
        all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
        let message = crate::check::check(&params(&all)).unwrap_err().message().to_owned();
        assert!(message.contains(text), "{message}");
    }
    let good = json!({"api_token_id": "a@pve!b", "api_token_secret": "x", "snapname": "Pre_1-a"});
    assert!(crate::check::check(&params(&good)).is_ok());
}
