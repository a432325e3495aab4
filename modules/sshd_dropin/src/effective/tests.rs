//! Lines and answers as sshd gives them, and the conflicts in them.

use super::*;
use crate::config::tests::{Files, Paths};
use crate::config::{MAIN, walk};

const OURS: &str = "/etc/ssh/sshd_config.d/10-x.conf";
const EARLY: &str = "/etc/ssh/sshd_config.d/05-a.conf";
const STOCK: &str = "Include /etc/ssh/sshd_config.d/*.conf\n";

fn ask(files: &[(&str, &str)], effective: &str, wanted: &str) -> Vec<String> {
    let files = Files::new(files);
    let all = walk(&files, MAIN, &files.0[MAIN]).directives;
    let own = all.iter().filter(|line| line.file == OURS && line.is_global()).collect();
    conflicts(&Question {
        own,
        all: &all,
        effective: &Dump::parse(effective),
        wanted: &Dump::parse(wanted),
        user: "nobody",
        connection: None,
    })
    .iter()
    .map(ToString::to_string)
    .collect()
}

#[test]
fn the_winner_is_named() {
    let no = "passwordauthentication no\n";
    let yes = "passwordauthentication yes\n";
    let ours = (OURS, "PasswordAuthentication no\n");
    let claim = "'PasswordAuthentication no' is not in force";
    let table: Vec<(&str, Paths, &str, &str, Vec<String>)> = vec![
        ("in force", vec![(MAIN, STOCK), ours], no, no, vec![]),
        (
            "in force, said twice alike",
            vec![(MAIN, STOCK), (EARLY, "PasswordAuthentication no"), ours],
            no,
            no,
            vec![],
        ),
        (
            "g20 another file comes first",
            vec![(MAIN, STOCK), (EARLY, "\nPasswordAuthentication yes"), ours],
            yes,
            no,
            vec![format!(
                "{claim}: {EARLY}:2 comes first with 'PasswordAuthentication yes' (in force: yes)"
            )],
        ),
        (
            "g22 a line above the Include",
            vec![(MAIN, "passwordauthentication yes\nInclude sshd_config.d/*\n"), ours],
            yes,
            no,
            vec![format!(
                "{claim}: {MAIN}:1 comes first with 'passwordauthentication yes' (in force: yes)"
            )],
        ),
        (
            "a Match for everyone outranks what comes before it",
            vec![
                (MAIN, "Include sshd_config.d/*\nMatch User *\n PasswordAuthentication yes"),
                ours,
            ],
            yes,
            no,
            vec![format!(
                "{claim}: {MAIN}:3 comes first with 'PasswordAuthentication yes' in 'Match User *' \
                 (in force: yes)"
            )],
        ),
        (
            "a Match that we cannot judge, but sshd can",
            vec![
                (MAIN, "Include sshd_config.d/*\nMatch Address *\n PasswordAuthentication yes"),
                ours,
            ],
            yes,
            no,
            vec![format!(
                "{claim}: {MAIN}:3 comes first with 'PasswordAuthentication yes' in 'Match Address \
                 *' (in force: yes)"
            )],
        ),
        (
            "g34 a port in another file adds",
            vec![(MAIN, "Port 22\nInclude sshd_config.d/*\n"), (OURS, "Port 2222\n")],
            "port 22\nport 2222\n",
            "port 2222\nport 22\n",
            vec![format!(
                "'Port 2222' is not in force: {MAIN}:1 adds 'Port 22' (in force: 22, 2222)"
            )],
        ),
        (
            "both ports were asked for",
            vec![(MAIN, "Port 22\nInclude sshd_config.d/*\n"), (OURS, "Port 2222\nPort 22")],
            "port 22\nport 2222\nport 22\n",
            "port 2222\nport 22\nport 22\n",
            vec![],
        ),
        (
            "variables that are passed on may be more",
            vec![(MAIN, "AcceptEnv LANG\nInclude sshd_config.d/*\n"), (OURS, "AcceptEnv FOO")],
            "acceptenv LANG\nacceptenv FOO\n",
            "acceptenv FOO\nacceptenv LANG\n",
            vec![],
        ),
        (
            "a second line of our own is silently ignored",
            vec![(MAIN, STOCK), (OURS, "PasswordAuthentication no\nPasswordAuthentication yes")],
            no,
            no,
            vec![format!(
                "'PasswordAuthentication yes' is not in force: {OURS}:1 comes first with \
                 'PasswordAuthentication no' (in force: no)"
            )],
        ),
        (
            "g32 an old name in another file",
            vec![
                (MAIN, STOCK),
                (EARLY, "ChallengeResponseAuthentication yes"),
                (OURS, "KbdInteractiveAuthentication no"),
            ],
            "kbdinteractiveauthentication yes\n",
            "kbdinteractiveauthentication no\n",
            vec![format!(
                "'KbdInteractiveAuthentication no' is not in force: {EARLY}:1 comes first with \
                 'ChallengeResponseAuthentication yes' (in force: yes)"
            )],
        ),
        (
            "a keyword that sshd does not show",
            vec![(MAIN, STOCK), (EARLY, "Unshown a"), (OURS, "Unshown b")],
            "",
            "",
            vec![format!("'Unshown b' is not in force: {EARLY}:1 comes first with 'Unshown a'")],
        ),
    ];
    for (name, files, effective, wanted, conflicts) in table {
        assert_eq!(ask(&files, effective, wanted), conflicts, "{name}");
    }
}
