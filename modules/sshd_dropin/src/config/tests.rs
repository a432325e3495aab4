//! Tables of whole configurations.

use std::collections::BTreeMap;

use super::*;

/// Paths and texts.
pub(crate) type Paths = Vec<(&'static str, &'static str)>;

/// Files by path.
pub(crate) struct Files(pub(crate) BTreeMap<String, String>);

impl Files {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self(files.iter().map(|(path, text)| (path.to_string(), text.to_string())).collect())
    }

    fn walk(&self) -> Walk {
        walk(self, MAIN, &self.0[MAIN])
    }
}

impl Source for Files {
    fn read(&self, path: &str) -> Content {
        self.0.get(path).cloned().map_or(Content::Unreadable, Content::Text)
    }

    fn list(&self, folder: &str) -> Vec<String> {
        let folder = format!("{}/", folder.trim_end_matches('/'));
        let mut names: Vec<String> = self
            .0
            .keys()
            .filter_map(|path| path.strip_prefix(&folder))
            .map(|rest| rest.split('/').next().unwrap().to_owned())
            .collect();
        names.dedup();
        names
    }
}

const STOCK: &str = "# comment\nInclude /etc/ssh/sshd_config.d/*.conf\nUsePAM yes\n";
const A: &str = "/etc/ssh/sshd_config.d/10-a.conf";
const B: &str = "/etc/ssh/sshd_config.d/20-b.conf";

fn lines(walk: &Walk) -> Vec<String> {
    walk.directives
        .iter()
        .map(|found| {
            let conditions: Vec<_> =
                found.conditions.iter().map(|condition| condition.criteria.as_str()).collect();
            format!("{} {} [{}]", found.place(), found.text, conditions.join(" & "))
        })
        .collect()
}

#[test]
fn the_order_of_reading() {
    let a = format!("{A}:1");
    let table: Vec<(&str, Paths, Vec<String>)> = vec![
        (
            "drop-ins come where the Include stands",
            vec![(MAIN, STOCK), (A, "Port 1"), (B, "Port=2\n")],
            vec![
                format!("{a} Port 1 []"),
                format!("{B}:1 Port=2 []"),
                format!("{MAIN}:3 UsePAM yes []"),
            ],
        ),
        (
            "a Match ends with its file",
            vec![(MAIN, STOCK), (A, "Match User bob\n X11Forwarding no"), (B, "Port 2")],
            vec![
                format!("{A}:2 X11Forwarding no [User bob]"),
                format!("{B}:1 Port 2 []"),
                format!("{MAIN}:3 UsePAM yes []"),
            ],
        ),
        (
            "an Include in a Match makes the whole file conditional",
            vec![
                (MAIN, "Match User bob\nInclude sshd_config.d/*.conf\nMatch all\nUsePAM no"),
                (A, "Port 1\nMatch Address 10.0.0.0/8\nPort 2\nMatch All\nPort 3"),
            ],
            vec![
                format!("{a} Port 1 [User bob]"),
                format!("{A}:3 Port 2 [User bob & Address 10.0.0.0/8]"),
                format!("{A}:5 Port 3 [User bob]"),
                format!("{MAIN}:4 UsePAM no []"),
            ],
        ),
        (
            "an Include that includes itself ends",
            vec![(MAIN, "Include sshd_config\nPort 1")],
            vec![format!("{MAIN}:2 Port 1 []"); MAX_DEPTH + 1],
        ),
        (
            "hidden names and other endings are not read",
            vec![
                (MAIN, "include \"sshd_config.d/*.conf\""),
                ("/etc/ssh/sshd_config.d/.x.conf", "Port 1"),
                ("/etc/ssh/sshd_config.d/10.txt", "Port 1"),
            ],
            vec![],
        ),
    ];
    for (name, files, wanted) in table {
        assert_eq!(lines(&Files::new(&files).walk()), wanted, "{name}");
    }
}

#[test]
fn old_names_are_one_keyword() {
    let files =
        Files::new(&[(MAIN, "ChallengeResponseAuthentication yes\nPUBKEYAcceptedKeyTypes x")]);
    let keywords: Vec<_> = files.walk().directives.into_iter().map(|found| found.keyword).collect();
    assert_eq!(keywords, ["kbdinteractiveauthentication", "pubkeyacceptedalgorithms"]);
}

#[test]
fn criteria_about_the_user() {
    let table = [
        ("User bob", "bob", true),
        ("User bob", "alice", false),
        ("User=b*,!bob", "bert", true),
        ("User b*,!bob", "bob", false),
        ("User \"bob\"", "bob", true),
        ("Address 10.0.0.0/8", "bob", false),
        ("User bob Address 10.0.0.0/8", "bob", false),
        ("all", "bob", true),
        ("User", "bob", false),
    ];
    for (criteria, user, wanted) in table {
        let condition = Condition { criteria: criteria.into(), file: MAIN.into(), line: 1 };
        assert_eq!(condition.holds_for(user), wanted, "{criteria} {user}");
    }
}

#[test]
fn the_staging_copy_keeps_lines_and_leads_names_back() {
    let files = Files::new(&[
        (MAIN, "Port 1\nInclude /etc/ssh/sshd_config.d/*.conf /etc/none\nInclude x*\nUsePAM yes"),
        (A, "Include /etc/ssh/sshd_config.d/20-b.conf\nMatch User bob"),
        (B, "Banner none"),
    ]);
    let assembly = Assembly::new(&files, &files.0[MAIN], "/run/s", None, Matches::Kept);
    let copies: Vec<_> = assembly.copies().collect();
    let text = |text: &str| Staged::Text(text.to_owned());
    assert_eq!(
        copies,
        [
            (
                "/run/s/0.conf".to_owned(),
                &text(
                    "Port 1\nInclude /run/s/1.conf /run/s/2.conf\n# Include of nothing\nUsePAM yes"
                )
            ),
            ("/run/s/1.conf".to_owned(), &text("Include /run/s/2.conf\nMatch User bob")),
            ("/run/s/2.conf".to_owned(), &text("Banner none")),
        ]
    );
    assert_eq!(assembly.real_names("/run/s/2.conf: line 1: bad"), format!("{B}: line 1: bad"));

    let looping = Files::new(&[(MAIN, "Include sshd_config\n")]);
    let assembly =
        Assembly::new(&looping, &looping.0[MAIN], "/run/s", Some("/run/s/ours"), Matches::Kept);
    let copies: Vec<_> = assembly.copies().collect();
    assert_eq!(
        copies,
        [("/run/s/0.conf".to_owned(), &text("Include /run/s/ours\nInclude /run/s/0.conf\n"))]
    );
}
