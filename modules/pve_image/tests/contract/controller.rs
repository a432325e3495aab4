//! What the control node fetches or decompresses before it uploads.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use harness::check_apply_again;
use pve_lab::{Origin, Place};
use serde_json::json;

use crate::support::{also, bench, bytes, files, local, named, sum};

/// Compressed by this program.
pub(crate) fn compressed(program: &str, bytes: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let bytes = bytes.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&bytes).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.status.success() && !output.stdout.is_empty());
    output.stdout
}

const FORMATS: [(&str, &str); 4] =
    [("xz", "xz"), ("zst", "zstd"), ("gz", "gzip"), ("bz2", "bzip2")];

#[test]
fn a_compressed_file_is_stored_decompressed() {
    let image = bytes(1, 700_001);
    for (ending, program) in FORMATS {
        let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
        let published = compressed(program, &image);
        let src = local(&folder, &format!("x.raw.{ending}"), &published);
        let task = json!({"storage": "local", "src": src, "checksum": sum(&published)});
        let cycle = check_apply_again(&bench.module(task), || files(&bench));
        let name = named("x", &published, ".raw");
        assert_eq!(files(&bench), [format!("import/{name}")], "{ending}");
        let stored = bench.lab.file("pve1", &format!("local:import/{name}"));
        assert_eq!(std::fs::read(stored).unwrap(), image, "{ending}");
        let row = &cycle.real.ok()["images"][0];
        assert_eq!((&row["sent"], &row["checksum"]), (&json!(700_001), &json!(sum(&published))));
        // under a name of one's own, and without a checksum, what is compared is what comes out
        let own = json!({"storage": "local", "src": src, "name": "own.raw"});
        let outcome = bench.module(own.clone()).run();
        assert!(outcome.changed());
        assert_eq!(outcome.ok()["checksum"], sum(&published), "{ending}");
        assert!(!bench.module(own.clone()).run().changed());
        bench.lab.put_file("pve1", "local:import/own.raw", &image[1..]);
        let other = bench.module(own).run();
        assert!(
            other.failed().contains("it has 700000 bytes, and what is wanted has 700001 bytes")
        );
    }
}

#[test]
fn the_control_node_fetches_decompresses_and_uploads() {
    let image = bytes(2, 300_000);
    for (ending, program) in FORMATS {
        let bench = bench();
        let published = compressed(program, &image);
        let origin = Origin::start();
        let path = format!("/a/x.raw.{ending}");
        origin.put(&path, Place::File(published.clone()));
        for option in ["url", "src"] {
            let task = json!({
                "storage": "local", option: origin.url(&path), "checksum": sum(&published),
                "via": "controller",
            });
            let outcome = bench.module(task).run();
            assert_eq!(outcome.changed(), option == "url", "{ending}");
        }
        let name = named("x", &published, ".raw");
        let stored = bench.lab.file("pve1", &format!("local:import/{name}"));
        assert_eq!(std::fs::read(stored).unwrap(), image, "{ending}");
        // the second run finds the content by its name and fetches nothing
        let gets = origin.seen().iter().filter(|seen| seen.starts_with("GET")).count();
        assert_eq!(gets, 1, "{:?}", origin.seen());
    }
}

#[test]
fn every_bad_answer_leaves_the_storage_as_it_was() {
    let image = bytes(3, 100_000);
    let published = compressed("xz", &image);
    let cut = published[..published.len() - 20].to_vec();
    for (what, place, expected) in [
        ("wrong content", Place::File(compressed("xz", &bytes(4, 100_000))), sum(&published)),
        ("404", Place::Status("404 Not Found".into()), sum(&published)),
        ("truncated", Place::Truncated(published.clone(), published.len() / 2), sum(&published)),
        ("cut off where it was published", Place::File(cut.clone()), sum(&cut)),
        ("no xz at all", Place::File(b"<html>".to_vec()), sum(b"<html>")),
        ("stuck", Place::Stuck(published.clone()), sum(&published)),
    ] {
        let bench = bench();
        let origin = Origin::start();
        origin.put("/x.raw.xz", place);
        let task = json!({
            "storage": "local", "url": origin.url("/x.raw.xz"), "checksum": expected,
            "via": "controller", "stall_timeout": 1,
        });
        let outcome = bench.module(task).run();
        assert_eq!(outcome.result["failed"], true, "{what}: {}", outcome.stdout);
        let sent = bench.writes();
        assert_eq!((sent, files(&bench)), (vec![], vec![]), "{what}: {}", outcome.failed());
        assert_eq!(outcome.result["changed"], false, "{what}");
    }
}

#[test]
fn slow_is_no_failure_and_nothing_is_left_here() {
    let (bench, folder) = (bench(), tempfile::tempdir().unwrap());
    let image = bytes(5, 100_000);
    let origin = Origin::start();
    let slow = Place::Slow(image.clone(), 20_000, Duration::from_millis(300));
    origin.put("/x.raw", slow);
    let task = json!({
        "storage": "local", "url": origin.url("/x.raw"), "checksum": sum(&image),
        "via": "controller", "stall_timeout": 1, "tmpdir": folder.path(),
    });
    assert!(bench.module(task.clone()).run().changed());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    let failed = bench.module(also(&task, json!({"name": "y.raw", "tmpdir": "/nowhere"}))).run();
    assert!(failed.failed().contains("/nowhere"), "{}", failed.failed());
}
