use serde_json::{Value, json};

use super::*;

fn entry(keys: &Value) -> Entry {
    let mut all = json!({"checksum": format!("sha512:{}", "ab".repeat(64))});
    for (key, value) in keys.as_object().unwrap() {
        all[key] = value.clone();
    }
    serde_json::from_value(all).unwrap()
}

#[test]
fn entries_say_where_and_what() {
    let agent = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";
    let given = "53513e54bb39202f35694412577a6bc53d484744d35a126e5d42ef34785c0d83";
    for (keys, url, name) in [
        (
            json!({"publisher": "debian", "release": "trixie", "serial": "20251117-2299"}),
            "https://cloud.debian.org/images/cloud/trixie/20251117-2299/\
             debian-13-genericcloud-amd64-20251117-2299.qcow2"
                .to_owned(),
            "debian-13-genericcloud-amd64-20251117-2299.qcow2",
        ),
        (
            json!({"publisher": "debian", "release": "bookworm", "serial": "20260101-2100",
                   "variant": "generic", "mirror": "http://mirror.example/cloud/"}),
            "http://mirror.example/cloud/bookworm/20260101-2100/\
             debian-12-generic-amd64-20260101-2100.qcow2"
                .to_owned(),
            "debian-12-generic-amd64-20260101-2100.qcow2",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "arch": "arm64"}),
            "https://cloud-images.ubuntu.com/releases/noble/release-20251113/\
             ubuntu-24.04-server-cloudimg-arm64.img"
                .to_owned(),
            "ubuntu-24.04-server-cloudimg-arm64-20251113.qcow2",
        ),
        (
            // a date without quotation marks is a number in YAML
            json!({"publisher": "ubuntu", "release": "noble", "serial": 20_251_113}),
            "https://cloud-images.ubuntu.com/releases/noble/release-20251113/\
             ubuntu-24.04-server-cloudimg-amd64.img"
                .to_owned(),
            "ubuntu-24.04-server-cloudimg-amd64-20251113.qcow2",
        ),
        (
            json!({"publisher": "talos", "release": "v1.11.5",
                   "extensions": ["siderolabs/qemu-guest-agent"]}),
            format!("https://factory.talos.dev/image/{agent}/v1.11.5/nocloud-amd64.raw"),
            "talos-v1.11.5-nocloud-amd64-ce4c9805.raw",
        ),
        (
            json!({"publisher": "talos", "release": "v1.12.0-beta.1", "schematic": given}),
            format!("https://factory.talos.dev/image/{given}/v1.12.0-beta.1/nocloud-amd64.raw"),
            "talos-v1.12.0-beta.1-nocloud-amd64-53513e54.raw",
        ),
    ] {
        let pinned = entry(&keys).pinned().unwrap();
        assert_eq!((pinned.url.as_str(), pinned.name.as_str()), (url.as_str(), name));
        let (stem, ending) = name.rsplit_once('.').unwrap();
        assert_eq!(pinned.file_name(), format!("{stem}-abababababab.{ending}"));
    }
}

#[test]
fn a_moving_target_is_no_pin() {
    for (keys, text) in [
        (json!({"publisher": "debian", "release": "trixie"}), "serial: it is missing"),
        (
            json!({"publisher": "debian", "release": "trixie", "serial": "latest"}),
            "serial: 'latest' is no dated build, such as 20251117-2299: what is published anew",
        ),
        (
            json!({"publisher": "debian", "release": "trixie", "serial": "20251117"}),
            "serial: '20251117' is no dated build",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "current"}),
            "serial: 'current' is no dated build, such as 20251113",
        ),
        (
            json!({"publisher": "debian", "release": "sid", "serial": "20251117-2299"}),
            "release: 'sid' is none of bullseye, bookworm, trixie, forky",
        ),
        (
            json!({"publisher": "ubuntu", "release": "no/../ble", "serial": "20251113"}),
            "release: 'no/../ble' is none of jammy, noble,",
        ),
        (json!({"publisher": "talos", "release": "latest"}), "release: 'latest' is no version"),
        (
            json!({"publisher": "talos", "release": "v1.11.5", "schematic": "ce4c"}),
            "schematic: 'ce4c' is no id",
        ),
        (
            json!({"publisher": "talos", "release": "v1.11.5", "schematic": "ab".repeat(32),
                   "extensions": ["siderolabs/gvisor"]}),
            "schematic: give it or extensions",
        ),
        (
            json!({"publisher": "talos", "release": "v1.11.5", "extensions": ["a: b"]}),
            "extensions: 'a: b' needs quotation marks",
        ),
        (
            json!({"publisher": "talos", "release": "v1.11.5", "serial": "20251117"}),
            "serial: Talos has none",
        ),
        (
            json!({"publisher": "talos", "release": "v1.11.5", "variant": "generic"}),
            "variant: only Debian has it",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "extensions": ["x"]}),
            "extensions: only Talos has it",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "checksum": "sha256:1"}),
            "checksum: 'sha256:1' is no checksum",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "arch": "x86"}),
            "arch: 'x86' is none of amd64 and arm64",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "mirror": "ftp://x"}),
            "mirror: 'ftp://x' is no address of a mirror",
        ),
        (
            json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "mirror": "https://u:hush@x"}),
            "mirror: 'x' is no address of a mirror",
        ),
    ] {
        let refused = entry(&keys).pinned().unwrap_err().to_string();
        assert!(refused.starts_with(text), "{refused}");
    }
}

#[test]
fn builds_are_found_in_the_pages_of_publishers() {
    let layout = |keys: Value| Layout::of(&entry(&keys)).unwrap();
    let debian = layout(json!({"publisher": "debian", "release": "trixie"}));
    let ubuntu = layout(json!({"publisher": "ubuntu", "release": "noble"}));
    let talos = layout(json!({"publisher": "talos", "release": "v1.11.5"}));
    for (layout, page, found) in [
        (
            &debian,
            "<a href=\"../\">..</a> <a href=\"20250806-2196/\">x</a><a href=\"20251117-2299/\">y</a>\
             <a href=\"daily/\">d</a><a href=\"latest/\">latest/</a><a href=\"20251006-2257/\">z</a>",
            vec!["20251117-2299", "20251006-2257", "20250806-2196"],
        ),
        (
            &ubuntu,
            "<a href=\"release/\">c</a><a href=\"release-20251113/\">a</a>\
             <a href=\"release-20251113.1/\">b</a><a href=\"20260101/\">a daily build</a>",
            vec!["20251113.1", "20251113"],
        ),
        (
            &talos,
            r#"["v1.2.0","v1.11.5","v1.12.0-alpha.1","v1.9.0"]"#,
            vec!["v1.11.5", "v1.9.0", "v1.2.0"],
        ),
        (&talos, "<html>gone</html>", vec![]),
        (&debian, "<html>gone</html>", vec![]),
    ] {
        let serials: Vec<String> = layout.listed(page).iter().map(ToString::to_string).collect();
        assert_eq!(serials, found);
    }
    assert_eq!(debian.list(), "https://cloud.debian.org/images/cloud/trixie/");
    assert_eq!(ubuntu.list(), "https://cloud-images.ubuntu.com/releases/noble/");
    assert_eq!(talos.list(), "https://factory.talos.dev/versions");
    let serial = Serial::ubuntu("20251113").unwrap();
    let (sums, signature) = ubuntu.sums(&serial).unwrap();
    let folder = "https://cloud-images.ubuntu.com/releases/noble/release-20251113";
    assert_eq!(sums, format!("{folder}/SHA256SUMS"));
    assert_eq!(signature, Some(format!("{folder}/SHA256SUMS.gpg")));
}
