use std::fs;
use std::io::Read;
use std::process::Stdio;
use std::time::Duration;

use images::Algorithm;
use pve_lab::Place;

use crate::support::{Bench, sum};

const SERIAL: &str = "20251117-2299";
const PATH: &str = "/trixie/20251117-2299/debian-13-genericcloud-amd64-20251117-2299.qcow2";

fn image() -> Vec<u8> {
    (0..300_000_u32).map(|at| ((at * 31) >> 3) as u8).collect()
}

fn name(content: &[u8]) -> String {
    let sum = sum(Algorithm::Sha512, content);
    format!("debian-13-genericcloud-amd64-{SERIAL}-{}.qcow2", sum.prefix())
}

#[test]
fn b45_what_is_pinned_is_fetched_once_and_no_other_is_taken_for_it() {
    let image = image();
    let bench = Bench::trixie(&[(SERIAL, &image)]);
    let name = name(&image);
    let first = bench.ok("fetch trixie --catalog images.yml");
    assert_eq!(first.stdout, format!("{name}\n"));
    assert_eq!(first.stderr, "ferrite-image: fetched 292.9 KiB (300000 bytes)\n");
    assert!(fs::read(bench.path().join(&name)).unwrap() == image);
    let requests = bench.origin.seen().len();
    let again = bench.ok("fetch trixie --catalog images.yml");
    assert_eq!(again.stderr, "ferrite-image: it is there already\n");
    assert_eq!(bench.origin.seen().len(), requests);
    // where it is wanted
    fs::create_dir(bench.path().join("kept")).unwrap();
    let kept = bench.ok("fetch trixie --catalog images.yml --output kept");
    assert_eq!(kept.stdout, format!("kept/{name}\n"));
    bench.write("mine.qcow2", b"another");
    let said = bench.fails("fetch trixie --catalog images.yml -o mine.qcow2");
    assert!(said.contains("mine.qcow2 is there with other content: it has sha512:"), "{said}");
    assert_eq!(bench.read("mine.qcow2"), "another");
    bench.ok("fetch trixie --catalog images.yml -o mine.qcow2 --replace");
    assert!(fs::read(bench.path().join("mine.qcow2")).unwrap() == image);
}

#[test]
fn b46_what_cannot_be_fetched_leaves_what_was_there() {
    let image = image();
    for (case, place, problem) in [
        ("gone", Place::Status("404 Not Found".into()), "the server says 404 Not Found"),
        (
            "wrong",
            Place::File(b"other".to_vec()),
            "is not the file that is asked for: it has sha512:",
        ),
        ("truncated", Place::Truncated(image.clone(), 1000), "it ended after 1000 bytes"),
        ("stuck", Place::Stuck(image.clone()), "nothing came for 1 s"),
        ("redirected", Place::Redirect("/gone".into()), "the server says 404 Not Found"),
    ] {
        let bench = Bench::trixie(&[(SERIAL, &image)]);
        bench.origin.put(PATH, place);
        bench.write("x.qcow2", b"old");
        let said =
            bench.fails("fetch trixie --catalog images.yml -o x.qcow2 --replace --stall-timeout 1");
        assert!(
            said.starts_with("ferrite-image: trixie: ") && said.contains(problem),
            "{case}: {said}"
        );
        assert_eq!((bench.read("x.qcow2").as_str(), bench.files().len()), ("old", 2), "{case}");
    }
}

#[test]
fn a_fetch_that_is_ended_leaves_nothing() {
    let image = image();
    for (signal, status) in [("INT", "SIGINT"), ("TERM", "SIGTERM")] {
        let bench = Bench::trixie(&[(SERIAL, &image)]);
        bench.origin.put(PATH, Place::Slow(image.clone(), 10_000, Duration::from_millis(200)));
        let mut child = bench
            .command("fetch trixie --catalog images.yml")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // it has begun when there is a part of it
        let begun = || bench.files().iter().any(|name| name.ends_with(".part"));
        while !begun() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
            std::thread::yield_now();
        }
        let pid = child.id().to_string();
        let kill = std::process::Command::new("kill").args(["-s", signal, &pid]).status();
        assert!(kill.unwrap().success());
        assert_eq!(child.wait().unwrap().code(), Some(1));
        let mut said = String::new();
        child.stderr.unwrap().read_to_string(&mut said).unwrap();
        assert!(said.contains(&format!("ended by {status}; nothing is left behind")), "{said}");
        assert_eq!(bench.files(), ["images.yml"]);
    }
}

#[test]
fn what_a_killed_fetch_left_is_gone_after_the_next() {
    let image = image();
    let bench = Bench::trixie(&[(SERIAL, &image)]);
    bench.origin.put(PATH, Place::Slow(image.clone(), 10_000, Duration::from_millis(200)));
    let mut child =
        bench.command("fetch trixie --catalog images.yml --output x.qcow2").spawn().unwrap();
    while !bench.files().iter().any(|name| name.ends_with(".part")) {
        assert!(child.try_wait().unwrap().is_none(), "it ended before it began");
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(bench.files(), [".x.qcow2.part", "images.yml"]);
    bench.origin.put(PATH, Place::File(image.clone()));
    let done = bench.run("fetch trixie --catalog images.yml --output x.qcow2");
    assert_eq!(done.status, Some(0), "{}", done.stderr);
    assert_eq!(bench.files(), ["images.yml", "x.qcow2"]);
    assert_eq!(std::fs::read(bench.folder.path().join("x.qcow2")).unwrap(), image);
}
