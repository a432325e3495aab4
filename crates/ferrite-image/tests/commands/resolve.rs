use images::Algorithm;
use pve_lab::Place;

use crate::support::{Bench, sum};

const OLD: (&str, &[u8]) = ("20250806-2196", b"old");
const NEW: (&str, &[u8]) = ("20251117-2299", b"new");

#[test]
fn moving_on_is_a_difference_that_is_looked_at() {
    let bench = Bench::trixie(&[OLD, NEW]);
    let before = bench.read("images.yml");
    let shown = bench.ok("resolve --catalog images.yml");
    assert_eq!(
        shown.stdout,
        format!(
            "--- images.yml\n+++ images.yml\n@@ -4,6 +4,6 @@\n   trixie:\n     publisher: debian\n     \
             release: trixie\n-    serial: 20250806-2196 # boots on all nodes\n+    serial: \
             20251117-2299 # boots on all nodes\n     mirror: {}\n-    checksum: {}\n+    checksum: {}\n",
            bench.origin.url(""),
            sum(Algorithm::Sha512, OLD.1),
            sum(Algorithm::Sha512, NEW.1)
        )
    );
    assert_eq!(shown.stderr, "ferrite-image: trixie: 20250806-2196 -> 20251117-2299\n");
    assert_eq!(bench.read("images.yml"), before, "it was only shown");

    let written = bench.ok("resolve trixie --catalog images.yml --write");
    assert_eq!(written.stdout, shown.stdout);
    assert!(written.stderr.ends_with("ferrite-image: wrote images.yml\n"), "{}", written.stderr);
    assert_eq!(bench.read("images.yml"), bench.catalog(NEW.0, NEW.1));
    assert_eq!(bench.files(), ["images.yml"]);

    let again = bench.ok("resolve --catalog images.yml --write");
    assert_eq!(
        (again.stdout.as_str(), again.stderr.as_str()),
        ("", "ferrite-image: trixie: 20251117-2299 is the newest\n")
    );
    // back again is asked for by name
    bench.ok("resolve trixie --to 20250806-2196 --catalog images.yml --write");
    assert_eq!(bench.read("images.yml"), before);
}

#[test]
fn what_cannot_be_resolved_changes_nothing() {
    for (name, place, problem) in [
        ("gone", Place::Status("404 Not Found".into()), "none of the builds"),
        (
            "a page",
            Place::File(b"<html>".to_vec()),
            "SHA512SUMS: line 1 is no checksum of a file: '<html>'",
        ),
        ("truncated", Place::Truncated(vec![b'0'; 100], 50), "it ended after 50 bytes"),
        ("stuck", Place::Stuck(vec![b'0'; 100]), "nothing came for 1 s"),
    ] {
        let bench = Bench::trixie(&[OLD, NEW]);
        let before = bench.read("images.yml");
        for (serial, _) in [OLD, NEW] {
            bench.origin.put(&format!("/trixie/{serial}/SHA512SUMS"), place.clone());
        }
        let said = bench.fails("resolve --catalog images.yml --write --stall-timeout 1");
        assert!(said.contains(problem), "{name}: {said}");
        assert!(
            said.ends_with(
                "ferrite-image: nothing is written, since not every entry could be resolved\n"
            ),
            "{said}"
        );
        assert_eq!((bench.read("images.yml"), bench.files().len()), (before, 1), "{name}");
    }
}

#[test]
fn a_build_that_is_published_anew_is_no_update() {
    let bench = Bench::trixie(&[OLD]);
    bench.publish(OLD.0, b"something else");
    let said = bench.fails("resolve --catalog images.yml --write");
    assert!(said.contains("trixie: 20250806-2196 was published anew: sha512:"), "{said}");
    assert_eq!(bench.read("images.yml"), bench.catalog(OLD.0, OLD.1));
}

#[test]
fn one_entry_that_fails_does_not_hide_the_others() {
    let bench = Bench::trixie(&[OLD, NEW]);
    let broken = bench
        .read("images.yml")
        .replace("---\nimages:\n", "")
        .replace("trixie:\n", "old:\n")
        .replace("release: trixie", "release: bookworm");
    bench.write("images.yml", (bench.read("images.yml") + &broken).as_bytes());
    let done = bench.run("resolve --catalog images.yml --write");
    assert_eq!(done.status, Some(1));
    assert!(done.stdout.contains("+    serial: 20251117-2299"), "{}", done.stdout);
    assert!(done.stderr.contains("old: failed to fetch http://127.0.0.1:"), "{}", done.stderr);
    assert!(bench.read("images.yml").contains("serial: 20250806-2196"));
}

#[test]
fn a_new_name_becomes_an_entry() {
    let bench = Bench::trixie(&[OLD, NEW]);
    let mirror = bench.origin.url("");
    let asked = format!("resolve agentless --publisher debian --release trixie --mirror {mirror}");
    // a catalog that is not there yet, in a folder that is not there yet
    let shown = bench.ok(&asked);
    assert!(
        shown.stdout.contains("+images:\n+  agentless:\n+    publisher: debian\n"),
        "{}",
        shown.stdout
    );
    assert_eq!(bench.files(), ["images.yml"]);
    bench.ok(&format!("{asked} --write"));
    let place = "inventory/site/group_vars/all/images.yml";
    let entry = format!(
        "---\nimages:\n  agentless:\n    publisher: debian\n    release: trixie\n    serial: \
         20251117-2299\n    mirror: {mirror}\n    checksum: {}\n",
        sum(Algorithm::Sha512, NEW.1)
    );
    assert_eq!(bench.read(place), entry);
    // beside others it is the last
    bench.ok(&format!("{asked} --write --catalog images.yml --to 20250806-2196"));
    assert!(bench.read("images.yml").ends_with(&format!(
        "  agentless:\n    publisher: debian\n    release: trixie\n    serial: 20250806-2196\n    \
         mirror: {mirror}\n    checksum: {}\n",
        sum(Algorithm::Sha512, OLD.1)
    )));
    let said = bench.fails(&asked);
    assert!(said.contains("has an entry 'agentless' already"), "{said}");
}

#[test]
fn a_moving_target_is_refused() {
    let bench = Bench::trixie(&[OLD, NEW]);
    for (catalog, problem) in [
        (
            bench.catalog("latest", b"old"),
            "images.yml: images.trixie: serial: 'latest' is no dated build, such as 20251117-2299",
        ),
        (
            bench.catalog(OLD.0, b"old").replace("serial:", "series:"),
            "images.yml: images.trixie: unknown field `series`, expected one of `publisher`",
        ),
        (
            "images: [trixie]\n".to_owned(),
            "images.yml: images: it is no mapping of names to entries",
        ),
        ("- images\n".to_owned(), "images.yml: it is no mapping with the variable 'images'"),
        ("images: {\n".to_owned(), "images.yml: it is no YAML: "),
        ("---\nother: 1\n".to_owned(), "images.yml has no entries"),
    ] {
        bench.write("images.yml", catalog.as_bytes());
        let said = bench.fails("resolve --catalog images.yml --write");
        assert!(said.starts_with(&format!("ferrite-image: {problem}")), "{said}");
    }
    bench.write("images.yml", bench.catalog(OLD.0, OLD.1).as_bytes());
    for (arguments, problem) in [
        ("resolve trixie --to latest", "trixie: serial: 'latest' is no dated build"),
        ("resolve nobody", "images.yml has no entry 'nobody'; it has trixie"),
        ("resolve a b --publisher debian --release trixie", "--publisher: it is of one new entry"),
        ("resolve new --publisher debian", "--release: it is missing"),
        ("resolve new --publisher debian --release latest", "new: release: 'latest' is none of"),
        ("resolve a:b --publisher talos", "'a:b' is no name of an entry"),
        ("resolve trixie --publisher talos", "images.yml has an entry 'trixie' already"),
    ] {
        let said = bench.fails(&format!("{arguments} --catalog images.yml --write"));
        assert!(said.contains(problem), "{arguments}: {said}");
        assert_eq!(bench.read("images.yml"), bench.catalog(OLD.0, OLD.1));
    }
    let usage = bench.run("resolve new --publisher nobody");
    assert_eq!(usage.status, Some(2));
    assert!(usage.stderr.contains("debian, ubuntu, talos publish images"), "{}", usage.stderr);
}

#[test]
fn the_environments_proxy_is_used() {
    let bench = Bench::new();
    let mirror = "http://mirror.invalid/cloud";
    let page = format!("<a href=\"{}/\">x</a>", NEW.0);
    bench.origin.put(&format!("{mirror}/trixie/"), Place::File(page.into_bytes()));
    let sums = format!(
        "{}  debian-13-genericcloud-amd64-{}.qcow2\n",
        sum(Algorithm::Sha512, NEW.1).hex(),
        NEW.0
    );
    let path = format!("{mirror}/trixie/{}/SHA512SUMS", NEW.0);
    bench.origin.put(&path, Place::File(sums.into_bytes()));
    let asked = format!("resolve new --publisher debian --release trixie --mirror {mirror}");
    let output = bench
        .command(&asked)
        .env("http_proxy", bench.origin.url(""))
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(said, "ferrite-image: new: 20251117-2299 is pinned\n");
}
