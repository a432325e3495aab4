//! Publishers that behave and that do not, as a server on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use images::{
    Algorithm, Checksum, Entry, Fetch, FetchError, Fetched, Progress, ResolveError, Resolved,
    Signatures, Summer, Upstream, fetch, resolve,
};
use pve_lab::{Origin, Place};
use serde_json::{Value, json};

const STALL: Duration = Duration::from_millis(500);

fn sum(algorithm: Algorithm, bytes: &[u8]) -> Checksum {
    let mut summer = Summer::new(algorithm);
    summer.add(bytes);
    summer.done()
}

fn run<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

fn file(path: &Path, url: &str, wanted: &Checksum, replace: bool) -> Result<Fetched, FetchError> {
    run(fetch(Fetch { url, wanted, to: path, replace, stall: STALL }, |_| {}))
}

#[test]
fn a_file_comes_whole_or_not_at_all() {
    let bytes: Vec<u8> = (0..400_000_u32).map(|at| ((at * 31) >> 3) as u8).collect();
    let wanted = sum(Algorithm::Sha512, &bytes);
    let origin = Origin::start();
    for (name, place, problem) in [
        ("gone", Place::Status("404 Not Found".into()), "the server says 404 Not Found"),
        ("broken", Place::Status("500 Oops".into()), "the server says 500"),
        ("wrong", Place::File(b"<html>".to_vec()), "is not the file that is asked for: it has"),
        ("truncated", Place::Truncated(bytes.clone(), 300_000), "it ended after 300000 bytes"),
        ("stuck", Place::Stuck(bytes.clone()), "nothing came for 0 s"),
        ("round", Place::Redirect("/round".into()), "it is sent elsewhere more than 10 times"),
        ("nowhere", Place::Redirect("/not".into()), "the server says 404 Not Found"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.raw");
        origin.put(&format!("/{name}"), place);
        let error = file(&path, &origin.url(&format!("/{name}")), &wanted, false).unwrap_err();
        assert!(error.to_string().contains(problem), "{name}: {error}");
        assert_eq!(names(folder.path()), Vec::<String>::new(), "{name}");
        // what was there stays there
        std::fs::write(&path, "old").unwrap();
        file(&path, &origin.url(&format!("/{name}")), &wanted, true).unwrap_err();
        assert_eq!(
            (names(folder.path()), std::fs::read(&path).unwrap()),
            (vec!["x.raw".to_owned()], b"old".to_vec())
        );
    }
    for (name, place) in [
        ("plain", Place::File(bytes.clone())),
        ("unsized", Place::Unsized(bytes.clone())),
        ("slow", Place::Slow(bytes.clone(), 100_000, Duration::from_millis(300))),
        ("redirected", Place::Redirect("/plain".into())),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.raw");
        origin.put(&format!("/{name}"), place);
        let url = origin.url(&format!("/{name}"));
        assert_eq!(file(&path, &url, &wanted, false).unwrap(), Fetched::New(400_000), "{name}");
        assert_eq!(file(&path, &url, &wanted, false).unwrap(), Fetched::Present(400_000));
        assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
        assert_eq!(names(folder.path()), ["x.raw"]);
        std::fs::write(&path, "another").unwrap();
        let error = file(&path, &url, &wanted, false).unwrap_err().to_string();
        assert!(error.contains("is there with other content: it has sha512:"), "{error}");
        assert_eq!(file(&path, &url, &wanted, true).unwrap(), Fetched::New(400_000), "{name}");
        assert!(std::fs::read(&path).unwrap() == bytes, "{name}");
    }
}

#[test]
fn progress_is_told_and_passwords_are_not() {
    let origin = Origin::start();
    origin.put("/x", Place::File(vec![7; 100_000]));
    let wanted = sum(Algorithm::Sha256, &vec![7; 100_000]);
    let folder = tempfile::tempdir().unwrap();
    let mut last = None;
    let (url, to) = (origin.url("/x"), folder.path().join("x"));
    let what = Fetch { url: &url, wanted: &wanted, to: &to, replace: false, stall: STALL };
    run(fetch(what, |progress| last = Some(progress))).unwrap();
    assert_eq!(last, Some(Progress { done: 100_000, total: Some(100_000) }));
    let secret = origin.url("/y").replace("http://", "http://me:hush@");
    let error = file(&folder.path().join("y"), &secret, &wanted, false).unwrap_err();
    assert!(!format!("{error} {error:?}").contains("hush"), "{error:?}");
    assert!(error.is_missing());
}

/// A publisher that has these builds of one file.
struct Mirror {
    origin: Origin,
    entry: Value,
}

impl Mirror {
    fn debian(builds: &[(&str, Option<&str>)]) -> Self {
        let origin = Origin::start();
        let links: String = builds
            .iter()
            .map(|(serial, _)| format!("<a href=\"{serial}/\">{serial}/</a>\n"))
            .collect();
        let page = format!("<a href=\"latest/\">latest/</a>\n{links}");
        origin.put("/trixie/", Place::File(page.into_bytes()));
        for (serial, content) in builds {
            let Some(content) = content else { continue };
            let name = format!("debian-13-genericcloud-amd64-{serial}.qcow2");
            let sum = sum(Algorithm::Sha512, content.as_bytes());
            let sums = format!("{}  other.qcow2\n{}  {name}\n", "0a".repeat(64), sum.hex());
            origin.put(&format!("/trixie/{serial}/SHA512SUMS"), Place::File(sums.into_bytes()));
        }
        let entry = json!({"publisher": "debian", "release": "trixie", "serial": "20250806-2196",
            "checksum": sum(Algorithm::Sha512, b"old").to_string(), "mirror": origin.url("")});
        Self { origin, entry }
    }

    fn ubuntu() -> Self {
        let origin = Origin::start();
        origin.put("/noble/", Place::File(b"<a href=\"release-20251113/\">x</a>".to_vec()));
        let sums = format!(
            "{} *ubuntu-24.04-server-cloudimg-amd64.img\n",
            sum(Algorithm::Sha256, b"new").hex()
        );
        let path = "/noble/release-20251113/SHA256SUMS";
        origin.put(path, Place::File(sums.into_bytes()));
        let entry = json!({"publisher": "ubuntu", "release": "noble", "checksum": "",
            "mirror": origin.url("/")});
        Self { origin, entry }
    }

    fn resolve(&self, to: Option<&str>, signatures: Signatures) -> Result<Resolved, ResolveError> {
        let entry: Entry = serde_json::from_value(self.entry.clone()).unwrap();
        let upstream = Upstream { signatures, stall: STALL };
        run(resolve(&entry, to, &upstream, &mut |_| {}))
    }
}

#[test]
fn the_newest_complete_build_is_proposed() {
    for (builds, to, serial, content, notes) in [
        // the newest of the list, in whatever order
        (
            &[
                ("20250806-2196", Some("old")),
                ("20251117-2299", Some("new")),
                ("20251006-1", Some("mid")),
            ][..],
            None,
            "20251117-2299",
            "new",
            0,
        ),
        // one that is being published is passed over
        (&[("20251006-1", Some("mid")), ("20251117-2299", None)], None, "20251006-1", "mid", 1),
        // the one that is asked for, though it is older
        (
            &[("20250101-1", Some("older")), ("20251117-2299", Some("new"))],
            Some("20250101-1"),
            "20250101-1",
            "older",
            0,
        ),
        // nothing newer
        (
            &[("20250101-1", Some("older")), ("20250806-2196", Some("old"))],
            None,
            "20250806-2196",
            "old",
            0,
        ),
    ] {
        let resolved = Mirror::debian(builds).resolve(to, Signatures::System).unwrap();
        assert_eq!(resolved.entry.serial.as_deref(), Some(serial));
        assert_eq!(resolved.entry.checksum, sum(Algorithm::Sha512, content.as_bytes()).to_string());
        assert_eq!(resolved.notes.len(), notes, "{:?}", resolved.notes);
        resolved.entry.pinned().unwrap();
    }
}

#[test]
fn what_cannot_be_relied_on_is_no_proposal() {
    let html = || Place::File(b"<html>sorry</html>".to_vec());
    let build: &[(&str, Option<&str>)] = &[("20251117-2299", Some("new"))];
    for (builds, change, to, problem) in [
        (
            &[("20250806-2196", Some("other"))][..],
            None,
            None,
            "20250806-2196 was published anew: sha512:",
        ),
        (
            &[("20250806-2196", None)],
            None,
            None,
            "none of the builds 20250806-2196 has a checksum of debian-13-",
        ),
        (build, Some(("/trixie/", html())), None, "/trixie/ lists no dated build"),
        (build, Some(("/trixie/", Place::Status("503 Busy".into()))), None, "the server says 503"),
        (
            build,
            Some(("/trixie/", Place::File(vec![b'a'; 5 << 20]))),
            None,
            "which is no such text",
        ),
        (
            build,
            Some(("/trixie/20251117-2299/SHA512SUMS", html())),
            None,
            "SHA512SUMS: line 1 is no checksum of a file: '<html>",
        ),
        (
            build,
            Some(("/trixie/20251117-2299/SHA512SUMS", Place::Status("403 No".into()))),
            None,
            "the server says 403",
        ),
        (build, None, Some("latest"), "serial: 'latest' is no dated build"),
        (build, None, Some("20251118-1"), "none of the builds 20251118-1 has a checksum"),
    ] {
        let mirror = Mirror::debian(builds);
        if let Some((path, place)) = change {
            mirror.origin.put(path, place);
        }
        let error = mirror.resolve(to, Signatures::System).unwrap_err().to_string();
        assert!(error.contains(problem), "{problem}: {error}");
    }
}

#[test]
fn checksums_of_ubuntu_are_signed() {
    let home = tempfile::tempdir().unwrap();
    let gpg = |arguments: &[&str], input: &Path| {
        let output = Command::new("gpg")
            .args(["--batch", "--quiet", "--homedir"])
            .arg(home.path())
            .args(arguments)
            .stdin(std::fs::File::open(input).unwrap())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    let mirror = Mirror::ubuntu();
    let sums = format!(
        "{} *ubuntu-24.04-server-cloudimg-amd64.img\n",
        sum(Algorithm::Sha256, b"new").hex()
    );
    let text = home.path().join("sums");
    std::fs::write(&text, &sums).unwrap();
    let mut keyrings = Vec::new();
    for who in ["publisher@example.org", "stranger@example.org"] {
        let make = ["--passphrase", "", "--quick-generate-key", who, "ed25519", "sign", "never"];
        gpg(&make, Path::new("/dev/null"));
        let keyring = home.path().join(format!("{who}.gpg"));
        std::fs::write(&keyring, gpg(&["--export", who], Path::new("/dev/null"))).unwrap();
        keyrings.push(keyring);
    }
    let signature = gpg(&["--local-user", "publisher@example.org", "--detach-sign"], &text);
    let good = Signatures::Keyring(keyrings[0].clone());
    let signed = "/noble/release-20251113/SHA256SUMS.gpg";

    // without a signature nothing is taken, unless that was asked for
    let error = mirror.resolve(None, good.clone()).unwrap_err().to_string();
    assert!(error.ends_with("SHA256SUMS.gpg: the server says 404 Not Found"), "{error}");
    let unsigned = mirror.resolve(None, Signatures::Unchecked).unwrap();
    assert_eq!(unsigned.entry.serial.as_deref(), Some("20251113"));

    mirror.origin.put(signed, Place::File(signature.clone()));
    let resolved = mirror.resolve(None, good.clone()).unwrap();
    assert_eq!(resolved.entry.checksum, sum(Algorithm::Sha256, b"new").to_string());
    let pinned = resolved.entry.pinned().unwrap();
    assert!(pinned.file_name().starts_with("ubuntu-24.04-server-cloudimg-amd64-20251113-"));

    let stranger = Signatures::Keyring(keyrings[1].clone());
    let error = mirror.resolve(None, stranger).unwrap_err().to_string();
    assert!(error.contains("its signature is not good by keyring"), "{error}");
    assert!(error.contains("public key"), "{error}");
    let none = Signatures::Keyring(home.path().join("none.gpg"));
    let error = mirror.resolve(None, none).unwrap_err().to_string();
    assert!(error.contains("none.gpg: No such file"), "{error}");

    // another text under the same signature
    let changed = sums.replacen(|c: char| c.is_ascii_digit(), "f", 1);
    mirror.origin.put("/noble/release-20251113/SHA256SUMS", Place::File(changed.into_bytes()));
    let error = mirror.resolve(None, good).unwrap_err().to_string();
    assert!(error.contains("BAD signature"), "{error}");
}

#[test]
fn talos_is_pinned_by_what_the_factory_sends() {
    let origin = Origin::start();
    let versions = br#"["v1.11.5","v1.12.0-beta.0","v1.11.6"]"#.to_vec();
    origin.put("/versions", Place::File(versions));
    let id = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";
    let path = format!("/image/{id}/v1.11.6/nocloud-amd64.raw");
    origin.put(&path, Place::File(b"talos".to_vec()));
    let entry = json!({"publisher": "talos", "release": "v1.11.5", "mirror": origin.url(""),
        "extensions": ["siderolabs/qemu-guest-agent"], "checksum": format!("sha256:{}", "0a".repeat(32))});
    let mirror = Mirror { origin, entry };
    let resolved = mirror.resolve(None, Signatures::System).unwrap();
    assert_eq!(resolved.entry.release, "v1.11.6");
    assert_eq!(resolved.entry.checksum, sum(Algorithm::Sha256, b"talos").to_string());
    assert!(
        resolved.notes[0].starts_with("the factory publishes no checksums"),
        "{:?}",
        resolved.notes
    );
    // the version that is pinned is not fetched again
    let kept = mirror.resolve(Some("v1.11.5"), Signatures::System).unwrap();
    assert_eq!((kept.entry.release.as_str(), kept.notes.len()), ("v1.11.5", 0));
    assert!(kept.entry.checksum.ends_with("0a0a"));
    let error = mirror.resolve(Some("latest"), Signatures::System).unwrap_err().to_string();
    assert!(error.starts_with("to: 'latest' is no version"), "{error}");
}
