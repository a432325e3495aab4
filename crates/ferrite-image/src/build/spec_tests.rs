//! Specs, as they are looked over.

use super::spec::Spec;

const SUM: &str = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef";

fn checked(text: &str) -> String {
    let spec: Spec = match serde_yaml_ng::from_str(text) {
        Ok(spec) => spec,
        Err(error) => return error.to_string(),
    };
    spec.check().map_or_else(|error| error.to_string(), |()| "fine".to_owned())
}

#[test]
fn specs_are_looked_over() {
    let image = format!("name: x\nsource: {{image: u.qcow2, checksum: '{SUM}'}}\n");
    let suite = "name: x\nsource: {suite: trixie, mirror: http://m.example/debian}\n";
    let rows = [
        ("an image", image.clone(), "fine"),
        ("a suite", suite.to_owned(), "fine"),
        (
            "all there is",
            format!(
                "{image}packages: [qemu-guest-agent, a=1.0-2~b]\n\
                 snapshot: {{id: 20250601T000000Z, mirror: 'http://m.example'}}\ndisk: 3G\n\
                 files: [{{path: /etc/x, content: a, mode: '0600'}}]\ncommands: ['true']\n"
            ),
            "fine",
        ),
        (
            "an unknown key",
            format!("{suite}package: [a]\n"),
            "unknown field `package`, expected one of `name`, `source`, `packages`, `snapshot`, `disk`, `files`, `commands` at line 3 column 1",
        ),
        (
            "no source",
            "name: x\nsource: {}\n".into(),
            "source: needs either image (with checksum), catalog (the name of an entry) or suite (with mirror)",
        ),
        (
            "both sources",
            "name: x\nsource: {image: a, suite: b}\n".into(),
            "source: needs either image (with checksum), catalog (the name of an entry) or suite (with mirror)",
        ),
        (
            "an image and an entry",
            "name: x\nsource: {image: a.qcow2, catalog: trixie}\n".into(),
            "source: needs either image (with checksum), catalog (the name of an entry) or suite (with mirror)",
        ),
        (
            "an entry and a checksum",
            format!("name: x\nsource: {{catalog: trixie, checksum: '{SUM}'}}\n"),
            "source: the entry 'trixie' of the catalog has its checksum; leave it out here",
        ),
        (
            "an entry without a snapshot",
            "name: x\nsource: {catalog: trixie}\npackages: [a]\n".into(),
            "source: packages for an upstream image need a snapshot to come from",
        ),
        (
            "a mirror of an entry, which has its own",
            "name: x\nsource: {catalog: trixie, mirror: 'http://m.example'}\n".into(),
            "source: mirror and keyring belong to a suite; an image's packages come from snapshot",
        ),
        (
            "a password",
            "name: x\nsource: {image: 'https://u:hush@c.example/u.qcow2'}\n".into(),
            "source: https://c.example/u.qcow2 has no checksum; take it from its publisher's SHA512SUMS",
        ),
        (
            "no checksum",
            "name: x\nsource: {image: a.qcow2}\n".into(),
            "source: a.qcow2 has no checksum; take it from its publisher's SHA512SUMS",
        ),
        (
            "a checksum that is none",
            "name: x\nsource: {image: a.qcow2, checksum: 'md5:1'}\n".into(),
            "source: 'md5:1' is no checksum: sha256: and 64 hexadecimal digits, or sha512: and 128",
        ),
        (
            "a moving target",
            format!(
                "name: x\nsource: {{image: 'https://c.example/trixie/latest/u.qcow2', checksum: '{SUM}'}}\n"
            ),
            "source: https://c.example/trixie/latest/u.qcow2 is a moving target; name a dated build",
        ),
        (
            "packages from nowhere",
            format!("{image}packages: [a]\n"),
            "source: packages for an upstream image need a snapshot to come from",
        ),
        (
            "two origins of packages",
            format!("{suite}snapshot: {{id: 20250601T000000Z}}\n"),
            "source: with a suite all packages come from its mirror; name the dated one there",
        ),
        (
            "a mirror that is an option",
            "name: x\nsource: {suite: trixie, mirror: '--x'}\n".into(),
            "source: its mirror is no http:// or https:// address",
        ),
        (
            "a suite that is an option",
            "name: x\nsource: {suite: 'a b'}\n".into(),
            "source: 'a b' is not a suite",
        ),
        (
            "everything wrong at once",
            format!(
                "{}packages: ['--x', 'a;b']\nsnapshot: {{id: latest, mirror: 'file:/x'}}\ndisk: big\n\
                 files: [{{path: ../x}}, {{path: /x, content: a, mode: rw}}]\n",
                image.replace("name: x", "name: ../x")
            ),
            "name: '../x' is not letters, digits, '.', '_' and '-'; \
             packages: '--x' is not a name, nor name=version; \
             packages: 'a;b' is not a name, nor name=version; \
             snapshot: 'latest' is no identifier, which is 20250601T000000Z; \
             snapshot: its mirror is no http:// or https:// address; \
             disk: 'big' is no size, which is 3G or 2943M; \
             files: '../x' is no absolute path; \
             files: ../x needs content or source, and one only; \
             files: /x: 'rw' is no mode, which is \"0644\"",
        ),
    ];
    for (name, text, expected) in rows {
        assert_eq!(checked(&text), expected, "{name}");
    }
}

#[test]
fn the_examples_of_the_documentation_are_specs() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/images.md");
    let page = std::fs::read_to_string(page).unwrap();
    let blocks = page.split("```yaml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let specs: Vec<&str> = blocks.filter(|block| block.contains("\nsource:")).collect();
    assert!(!specs.is_empty());
    for spec in specs {
        let entry = "source: 'trixie' was not looked up in a catalog";
        let expected = if spec.contains("catalog:") { entry } else { "fine" };
        assert_eq!(checked(spec), expected, "{spec}");
    }
}

#[test]
fn sizes_are_read() {
    let size = |text: &str| {
        let text = format!("name: x\nsource: {{suite: s}}\ndisk: '{text}'\n");
        serde_yaml_ng::from_str::<Spec>(&text).unwrap().size().ok().flatten()
    };
    for (text, expected) in [
        ("3G", Some(3 << 30)),
        ("2943M", Some(2943 << 20)),
        ("1T", Some(1 << 40)),
        ("0G", None),
        ("3", None),
        ("-1G", None),
        ("99999999999T", None),
    ] {
        assert_eq!(size(text), expected, "{text}");
    }
}
