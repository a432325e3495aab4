//! Real builds: a real image as the upstream one, packages from dated archives on loopback.

use std::process::Command;

use crate::support::{Bench, inside, said};
use pve_lab::Place;
use serde_json::{Value, json};

/// Where identity, traces and sources would be.
const LOOK: &str = "cat usr/share/ferrite-demo/version 2>/dev/null || echo none; \
    cat etc/apt/sources.list.d/debian.sources etc/machine-id; readlink etc/resolv.conf; \
    ls etc/ssh/ssh_host_* var/lib/apt/lists var/cache/apt usr/sbin/policy-rc.d \
        var/lib/systemd/random-seed run tmp 2>/dev/null; \
    find var/log -type f -size +0; find dev proc sys; ls etc/apt/sources.list";

fn version(manifest: &Value, name: &str) -> Value {
    let packages = manifest["packages"].as_array().unwrap();
    packages.iter().find(|p| p["name"] == name).map_or(Value::Null, |p| p["version"].clone())
}

#[test]
fn packages_come_from_the_snapshot_and_nothing_else_changes() {
    let bench = Bench::new();
    let first = bench.build(&bench.spec("20250101T000000Z", "disk: 4G\n"));
    assert_eq!(version(&first, "ferrite-demo"), "1.0");
    assert_ne!(version(&first, "qemu-guest-agent"), Value::Null);
    assert_eq!(bench.outputs(), ["x.qcow2", "x.qcow2.json"]);
    assert_eq!(first["output"]["disk_bytes"], 4_u64 << 30);
    assert_eq!(first["inputs"]["source"]["checksum"], bench.checksum.as_str());
    bench.assert_free("a build");

    let (before, after) = (
        inside(&bench.image, bench.folder.path(), &format!("{{ {LOOK}; }} || true")),
        inside(&bench.path("out/x.qcow2"), bench.folder.path(), &format!("{{ {LOOK}; }} || true")),
    );
    assert!(before.starts_with("none\n") && before.contains("URIs: http://deb.debian.org/debian"));
    assert_eq!(after, before.replacen("none\n", "1.0\n", 1));

    let again = bench.build(&bench.spec("20250101T000000Z", "disk: 4G\n"));
    assert_eq!(again["packages"], first["packages"], "a second build has other packages");
    assert_eq!(again["inputs"], first["inputs"]);
    let later = bench.build(&bench.spec("20250601T000000Z", ""));
    assert_eq!(version(&later, "ferrite-demo"), "2.0");
    assert_eq!(later["output"]["disk_bytes"], 3_u64 << 30);

    let seen = bench.mirror.seen().join("\n");
    for index in ["Translation", "Contents", "Sources"] {
        assert!(!seen.contains(index), "{index} in {seen}");
    }
}

#[test]
fn an_entry_of_the_catalog_is_a_source() {
    let bench = Bench::new();
    let (serial, image) = ("20250601-2130", std::fs::read(&bench.image).unwrap());
    let place = format!("/trixie/{serial}/debian-13-genericcloud-amd64-{serial}.qcow2");
    bench.mirror.put(&place, Place::File(image));
    let spec = bench.spec("20250101T000000Z", "");
    let (_, rest) = spec.split_once("packages:").unwrap();
    let build = |name: &str, checksum: &str| {
        let mirror = bench.mirror.url("");
        let text = format!(
            "images:\n  upstream:\n    publisher: debian\n    release: trixie\n    \
             serial: {serial}\n    mirror: {mirror}\n    checksum: {checksum}\n"
        );
        std::fs::write(bench.path("images.yml"), text).unwrap();
        let spec = format!("name: x\nsource: {{catalog: {name}}}\npackages:{rest}");
        bench.command(&spec).arg("--catalog").arg(bench.path("images.yml")).output().unwrap()
    };
    let other = bench.checksum.replace(&bench.checksum[7..12], "00000");
    for (name, checksum, expected) in [
        ("upstream", other.as_str(), "is not what the spec pins: it has sha256:"),
        ("upstream", "sha256:12", "'sha256:12' is no checksum"),
        ("gone", &bench.checksum, "has no entry 'gone'; it has upstream"),
    ] {
        let output = build(name, checksum);
        let text = said(&output);
        assert!(!output.status.success() && text.contains(expected), "{text}");
        assert_eq!(bench.outputs(), Vec::<String>::new(), "{expected}");
    }
    let output = build("upstream", &bench.checksum);
    assert!(output.status.success(), "{}", said(&output));
    let manifest = std::fs::read_to_string(bench.path("out/x.qcow2.json")).unwrap();
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    assert_eq!(
        manifest["inputs"]["source"],
        json!({
            "catalog": "upstream",
            "image": bench.mirror.url(&place),
            "checksum": bench.checksum,
        })
    );
    assert_eq!(version(&manifest, "ferrite-demo"), "1.0");
}

#[test]
fn a_password_in_an_address_is_told_to_nobody() {
    let bench = Bench::new();
    bench.mirror.put("/x.qcow2", Place::File(std::fs::read(&bench.image).unwrap()));
    bench.mirror.put("/gone.qcow2", Place::Status("404 Not Found".into()));
    let place = |path: &str| bench.mirror.url(path).replace("http://", "http://user:hush-hush@");
    let other = bench.checksum.replace(&bench.checksum[7..12], "00000");
    let build = |image: &str, checksum: &str| {
        let spec = format!("name: x\nsource: {{image: '{image}', checksum: '{checksum}'}}\n");
        bench.command(&spec).output().unwrap()
    };
    for (path, checksum, done) in [
        ("/gone.qcow2", bench.checksum.as_str(), false),
        ("/latest/x.qcow2", &bench.checksum, false),
        ("/x.qcow2", &other, false),
        ("/x.qcow2", "", false),
        ("/x.qcow2", &bench.checksum, true),
    ] {
        let output = build(&place(path), checksum);
        let text = said(&output);
        assert_eq!(output.status.success(), done, "{text}");
        assert!(!text.contains("hush-hush"), "{text}");
    }
    let manifest = std::fs::read_to_string(bench.path("out/x.qcow2.json")).unwrap();
    assert!(!manifest.contains("hush-hush"), "{manifest}");
}

#[test]
fn files_and_commands_make_an_image_ones_own() {
    let bench = Bench::new();
    std::fs::write(bench.path("motd"), "from a file\n").unwrap();
    let more = "files:\n  - {path: /etc/motd, source: motd}\n\
        \x20 - {path: /etc/own/x, content: secret, mode: '0600'}\n\
        commands:\n  - cat /etc/own/x >/etc/own/y\n  - invoke-rc.d ssh start\n";
    let manifest = bench.build(&bench.spec("20250101T000000Z", more));
    let told = "cat etc/motd etc/own/y; echo; stat -c '%a %u' etc/own/x";
    let found = inside(&bench.path("out/x.qcow2"), bench.folder.path(), told);
    assert_eq!(found, "from a file\nsecret\n600 0\n");
    assert_eq!(
        manifest["inputs"]["files"][1],
        json!({
            "path": "/etc/own/x",
            "checksum": "sha256:2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b",
        })
    );
    bench.assert_free("a service that was not to start");
}

#[test]
fn failures_say_why_and_leave_nothing() {
    let bench = Bench::new();
    let demo = |more: &str| bench.spec("20250101T000000Z", more);
    let other = bench.checksum.replace(&bench.checksum[7..12], "00000");
    let packed = bench.path("packed.qcow2.xz");
    std::fs::write(&packed, b"\xfd7zXZ\0\0\0rest").unwrap();
    let layered = bench.path("layered.qcow2");
    let made = Command::new("qemu-img")
        .args(["create", "-q", "-f", "qcow2", "-F", "qcow2", "-b"])
        .args([&bench.image, &layered])
        .status();
    assert!(made.unwrap().success());
    bench.mirror.put("/gone.qcow2", Place::Status("404 Not Found".into()));
    let image = std::fs::read(&bench.image).unwrap();
    bench.mirror.put("/cut.qcow2", Place::Truncated(image, 1000));
    let from = |place: &str, checksum: &str| {
        format!("name: x\nsource: {{image: '{place}', checksum: '{checksum}'}}\n")
    };
    let sum_of = |path: &std::path::Path| {
        let output = Command::new("sha256sum").arg(path).output().unwrap();
        format!("sha256:{}", &String::from_utf8_lossy(&output.stdout)[..64])
    };
    let image = bench.image.display().to_string();
    let rows = [
        (
            "wrong checksum",
            from(&image, &other),
            format!(
                "{image} is not what the spec pins: it has {}, the spec says {other}; get the right \
                 file, or look at the new one and pin it",
                bench.checksum
            ),
        ),
        (
            "unknown package",
            demo("").replace("[ferrite-demo]", "[no-such-thing]"),
            "cannot install no-such-thing from 20250101T000000Z; name what is in that archive, or a \
             later snapshot: "
                .to_owned(),
        ),
        (
            "a version that the snapshot has not",
            demo("").replace("[ferrite-demo]", "[ferrite-demo=2.0]"),
            "E: Version '2.0' for 'ferrite-demo' was not found".to_owned(),
        ),
        (
            "no such snapshot",
            bench.spec("20240101T000000Z", ""),
            "cannot read the archives of 20240101T000000Z: ".to_owned(),
        ),
        (
            "a packed image",
            from(&packed.display().to_string(), &sum_of(&packed)),
            "it is packed by xz; unpack it (xz --decompress)".to_owned(),
        ),
        (
            "an image on top of another",
            from(&layered.display().to_string(), &sum_of(&layered)),
            "takes content from another file, which no checksum is known of".to_owned(),
        ),
        (
            "no image at the address",
            from(&bench.mirror.url("/gone.qcow2"), &bench.checksum),
            "cannot fetch http".to_owned(),
        ),
        (
            "an image that is cut off",
            from(&bench.mirror.url("/cut.qcow2"), &bench.checksum),
            "it ended after 1000 bytes".to_owned(),
        ),
        (
            "a disk that is too small",
            demo("disk: 1G\n"),
            "the source's disk has 3072 MiB, which does not fit into 1024 MiB".to_owned(),
        ),
        (
            "a command that fails",
            demo("commands: ['echo no >&2; exit 3']\n"),
            "the command 'echo no >&2; exit 3' failed in the image: ".to_owned(),
        ),
        (
            "no agent",
            demo("commands: ['rm /usr/sbin/qemu-ga']\n"),
            "the image has no guest agent; add qemu-guest-agent to its packages".to_owned(),
        ),
        (
            "no udev rule",
            demo("commands: ['rm /usr/lib/udev/rules.d/*qemu-guest-agent.rules']\n"),
            "the image has no udev rule that starts qemu-guest-agent".to_owned(),
        ),
    ];
    for (name, spec, expected) in rows {
        let output = bench.command(&spec).output().unwrap();
        let text = said(&output);
        assert_eq!(output.status.code(), Some(1), "{name}: {text}");
        assert!(text.contains(&expected), "{name}: {text}");
        assert_eq!(bench.outputs(), Vec::<String>::new(), "{name}");
        bench.assert_free(name);
    }
}

#[test]
fn a_host_without_room_and_one_without_rights_are_told() {
    let bench = Bench::new();
    let build = bench.command(&bench.spec("20250101T000000Z", ""));
    let words: Vec<_> = std::iter::once(build.get_program()).chain(build.get_args()).collect();
    let script = "mount -t tmpfs -o size=200M tmpfs \"$0\" && exec \"$@\"";
    let small = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(bench.path("out"))
        .args(&words)
        .output()
        .unwrap();
    let text = said(&small);
    assert!(
        text.contains("/out/.x.qcow2.build has 2") && text.contains("MiB are needed"),
        "{text}"
    );

    // where that user may read
    let copy = bench.path("ferrite-image");
    std::fs::copy(words[0], &copy).unwrap();
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(bench.folder.path(), mode).unwrap();
    let user = Command::new("setpriv")
        .args(["--reuid", "65534", "--clear-groups"])
        .arg(&copy)
        .args(&words[1..])
        .output()
        .unwrap();
    assert_eq!(user.status.code(), Some(1));
    assert_eq!(
        said(&user),
        "ferrite-image: building an image needs root: it mounts file systems and changes its root\n"
    );
    assert_eq!(bench.outputs(), Vec::<String>::new());
    bench.assert_free("no room");
}
