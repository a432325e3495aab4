//! The table of cases.

use super::*;
use crate::config::{Condition, Included, MAIN};
use crate::effective::{Conflict, Winner};
use crate::trial::{Broken, Trial};

const PATH: &str = "/etc/ssh/sshd_config.d/10-x.conf";

fn params(args: serde_json::Value) -> Params {
    let mut all = json!({"name": "10-x.conf", "content": "UsePAM yes"});
    all.as_object_mut().unwrap().extend(args.as_object().unwrap().clone());
    serde_json::from_value(all).unwrap()
}

fn file(text: &str) -> Saved {
    Saved::File {
        content: text.into(),
        mode: 0o644,
        owner: (0, 0),
        modified: std::time::SystemTime::UNIX_EPOCH,
    }
}

/// Nothing there yet, a good trial, a running sshd.
fn found() -> Found {
    let included = Included { file: PATH.into(), by: format!("{MAIN}:1"), conditions: Vec::new() };
    Found {
        current: Saved::Absent,
        wanted: Some("UsePAM yes\n".into()),
        trial: Trial { included: vec![included], ..Trial::default() },
        daemon: Daemon::Reload { unit: "ssh.service".into() },
        pending: false,
    }
}

fn there() -> Found {
    Found { current: file("UsePAM yes\n"), ..found() }
}

#[test]
fn plans() {
    let create = format!("create {PATH}");
    let table: Vec<(&str, serde_json::Value, Found, Vec<&str>)> = vec![
        ("new", json!({}), found(), vec![&create, "reload ssh.service"]),
        ("there", json!({}), there(), vec![]),
        ("not to be reloaded", json!({"reload": "no"}), found(), vec![&create]),
        ("no sshd runs", json!({}), Found { daemon: Daemon::None, ..found() }, vec![&create]),
        (
            "g35 started by a socket, and idle",
            json!({}),
            Found { daemon: Daemon::Idle { socket: Some("ssh.socket".into()) }, ..found() },
            vec![&create],
        ),
        (
            "g35 started by a socket, and at work",
            json!({}),
            Found {
                daemon: Daemon::Restart { unit: "ssh.service".into(), socket: "ssh.socket".into() },
                ..found()
            },
            vec![&create, "restart ssh.service, which ssh.socket started"],
        ),
        (
            "interrupted before the reload",
            json!({}),
            Found { pending: true, ..there() },
            vec!["reload ssh.service"],
        ),
        (
            "a link in its place",
            json!({}),
            Found { current: Saved::Link("/dev/null".into()), ..found() },
            vec!["change /etc/ssh/sshd_config.d/10-x.conf", "reload ssh.service"],
        ),
        (
            "removed",
            json!({"state": "absent"}),
            Found { wanted: None, ..there() },
            vec!["remove /etc/ssh/sshd_config.d/10-x.conf", "reload ssh.service"],
        ),
        ("gone", json!({"state": "absent"}), Found { wanted: None, ..found() }, vec![]),
    ];
    for (name, args, found, wanted) in table {
        let changes = plan(&params(args), &found).unwrap();
        let changes: Vec<_> = changes.iter().map(ToString::to_string).collect();
        assert_eq!(changes, wanted, "{name}");
    }
}

#[test]
fn refusals() {
    let broken = |before| {
        let broken = Some(Broken { complaint: "line 1: Bad".into(), before });
        Found { trial: Trial { broken, ..found().trial }, ..found() }
    };
    let conditional = Included {
        file: PATH.into(),
        by: format!("{MAIN}:5"),
        conditions: vec![Condition { criteria: "User bob".into(), file: MAIN.into(), line: 4 }],
    };
    let winner = Winner {
        file: "/a".into(),
        line: 2,
        text: "UsePAM no".into(),
        criteria: None,
        adds: false,
    };
    let conflict = Conflict {
        wanted: "UsePAM yes".into(),
        effective: vec!["no".into()],
        winner: Some(winner),
        connection: None,
    };
    let keyless = vec!["user 'ann' has no key in /x".to_owned()];
    let table: Vec<(&str, Found, String)> = vec![
        (
            "g28 broken by us",
            broken(false),
            format!("the configuration of sshd would be broken with {PATH}: line 1: Bad"),
        ),
        (
            "broken before",
            broken(true),
            format!("the configuration of sshd was broken before, without {PATH}: line 1: Bad"),
        ),
        (
            "no Include",
            Found { trial: Trial::default(), ..found() },
            format!("{PATH} would have no effect: no Include in /etc/ssh/sshd_config covers it"),
        ),
        (
            "g24 an Include in a Match",
            Found { trial: Trial { included: vec![conditional], ..found().trial }, ..found() },
            format!(
                "{PATH} would hold for some connections only: the Include at {MAIN}:5 stands in \
                 'Match User bob' of {MAIN}:4; move it above"
            ),
        ),
        (
            "another line wins, also when the file is there already",
            Found { trial: Trial { conflicts: vec![conflict], ..there().trial }, ..there() },
            "'UsePAM yes' is not in force: /a:2 comes first with 'UsePAM no' (in force: no)".into(),
        ),
        (
            "g39 nobody could log in",
            Found { trial: Trial { keyless: keyless.clone(), ..found().trial }, ..found() },
            "logins with a password would be switched off, but user 'ann' has no key in /x; see \
             option require_keys_for"
                .into(),
        ),
    ];
    for (name, found, wanted) in table {
        let failure = plan(&params(json!({})), &found).unwrap_err();
        assert_eq!(failure.message(), wanted, "{name}");
    }
    let in_force = Found { trial: Trial { keyless, ..there().trial }, ..there() };
    assert!(plan(&params(json!({})), &in_force).unwrap().is_empty());
}
