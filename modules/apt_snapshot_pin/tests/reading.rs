//! Sources in every shape, read by the module and by the guest's own apt: both see the same ones.

use std::collections::BTreeSet;

use pve_lab::guests::{Suite, TestGuest};
use serde_json::json;

const BINARY: &str = env!("CARGO_BIN_EXE_apt_snapshot_pin");
const FOLDER: &str = "/etc/apt/sources.list.d";

/// Name of a file, its text.
const FILES: [(&str, &str); 12] = [
    // a line of blanks goes on with the field before it
    ("blanks.sources", "Types: deb\nURIs: http://a/debian\n  \nSuites: x\n\t\nComponents: main\n"),
    // so that these are one stanza, and the last of each field counts
    (
        "twice.sources",
        "Types: deb\nURIs: http://a/\nSuites: x\nComponents: main\n \nTypes: deb\nURIs: http://b/\n\
         Suites: y\nComponents: main\n",
    ),
    (
        "apart.sources",
        "\n\nTypes: deb\nURIs: http://a/\nSuites: x\nComponents: main\n\n# c\n\n \nTypes: deb\n\
         URIs: http://b/\nSuites: y\nComponents: main\n",
    ),
    (
        "comments.sources",
        "# c\nTypes: deb\n#c\nURIs:\n http://a/\n# http://no/\n http://b/\n#\nSuites: x #y\n\
         Components: main\n# end\n",
    ),
    (
        "tabs.sources",
        "Types:\n\tdeb\nURIs:\n\thttp://a/\n\thttp://b/\nSuites: x\nComponents: main\n",
    ),
    ("spaced.sources", "types : deb\nuris\t: http://a/\nSUITES: x\nComponents:main\n"),
    (
        "off.sources",
        "Enabled: no\nTypes: deb\nURIs: http://a/\nSuites: x\nComponents: main\n\nEnabled:\n Off\n\
         Types: deb\nURIs: http://b/\nSuites: x\nComponents: main\n\nEnabled: 0x0\nTypes: deb\nURIs: \
         http://c/\nSuites: x\nComponents: main\n\nTypes: deb\nURIs: http://d/\nSuites: x\n\
         Components: main\n",
    ),
    (
        "on.sources",
        "Enabled: no way\nTypes: deb\nURIs: http://a/\nSuites: x\nComponents: main\n\nEnabled:\n\tno\n\
         Types: deb\nURIs: http://b/\nSuites: x\nComponents: main\n\nEnabled: no\nTypes: deb\nURIs: \
         http://c/\nSuites: x\nComponents: main\nEnabled: yes\n",
    ),
    (
        "returns.sources",
        "Types: deb\r\nURIs: http://a/\r\nSuites: x\r\nComponents: main\r\n\r\nTypes: deb\r\nURIs: \
         http://b/\r\nSuites: y\r\nComponents: main\r\n",
    ),
    ("unended.sources", "Types: deb\nURIs: http://a/\nSuites: x\nComponents:\n main"),
    (
        "options.list",
        "deb [ arch=amd64 arch-=i386 ] http://a/ x main # y\n\n  \t\n #deb http://no/ x main\ndeb\t\
         [arch=amd64]\thttp://b/ y main\n",
    ),
    ("quoted.list", "deb \"http://a/quoted\" \"x\" main\r\ndeb [arch=amd64 ] http://b/ ./\n"),
];

#[test]
fn what_apt_reads_is_what_the_module_reads() {
    for suite in [Suite::Trixie, Suite::Bookworm] {
        let guest = TestGuest::boot(suite);
        for (name, text) in FILES {
            guest.run(&format!("rm -f {FOLDER}/*"));
            guest.write(&format!("{FOLDER}/{name}"), text.as_bytes(), 0o644);
            let printed = guest.run("apt-get update --print-uris");
            assert!(printed.success(), "{name}: {printed:?}");
            let apt: BTreeSet<String> = printed
                .stdout
                .lines()
                .filter_map(|line| line.split('\'').nth(1)?.strip_suffix("InRelease"))
                .map(|folder| folder.trim_end_matches('/').to_owned())
                .collect();
            let args = json!({
                "snapshot_id": "20250601T000000Z", "update": false,
                "allow_unpinned": [format!("{FOLDER}/{name}")],
            });
            let outcome = guest.module_with(BINARY, &args, &json!({"_ansible_check_mode": true}));
            let sources =
                outcome["sources"].as_array().unwrap_or_else(|| panic!("{name}: {outcome}"));
            let mut ours = BTreeSet::new();
            for source in sources {
                let uri = source["uri"].as_str().unwrap_or_default().trim_end_matches('/');
                for suite in source["suites"].as_array().into_iter().flatten() {
                    ours.insert(match suite.as_str().unwrap_or_default() {
                        "./" => format!("{uri}/."),
                        suite => format!("{uri}/dists/{suite}"),
                    });
                }
            }
            assert_eq!(ours, apt, "{name} on {suite:?}");
        }
    }
}
