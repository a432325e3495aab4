//! Builds that are killed, wherever they are: the kernel takes away programs, mounts and loop
//! devices, a build that was asked to end its files too, and the next build what was left.

use std::os::unix::process::ExitStatusExt;
use std::process::Child;

use crate::support::{Bench, said, wait_for};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use pve_lab::Place;

const INDEX: &str = "/archive/debian/20250601T000000Z/dists/trixie/main/binary-amd64/Packages";

/// Stays in a command in the image until it is killed.
const WAIT: &str = "commands:\n  - >-\n    mkfifo /run/ferrite-image/fifo;\n\
    \x20   touch /run/ferrite-image/reached;\n    read word </run/ferrite-image/fifo\n";

/// Where a build is when it is killed: its name, the spec, the file that appears then.
fn stages(bench: &Bench) -> [(&'static str, String, &'static str); 3] {
    [
        ("apt", bench.spec("20250601T000000Z", ""), "own/lists/partial"),
        ("a command", bench.spec("20250101T000000Z", WAIT), "own/reached"),
        ("packing", bench.spec("20250101T000000Z", ""), "packed.qcow2"),
    ]
}

/// The process that builds, which the one that was started looks after.
fn worker(child: &Child) -> Pid {
    let id = child.id();
    let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap();
    Pid::from_raw(children.split_whitespace().next().unwrap().parse().unwrap())
}

#[test]
fn a_build_that_is_killed_leaves_nothing_in_use_and_the_next_one_finishes() {
    let bench = Bench::new();
    bench.mirror.put(INDEX, Place::Stuck(vec![b' '; 1000]));
    let work = bench.path("out/.x.qcow2.build");
    for (stage, spec, file) in stages(&bench) {
        for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGKILL] {
            let name = format!("{signal} in {stage}");
            let mut child = bench.start(&spec);
            wait_for(&work.join(file), &mut child);
            kill(Pid::from_raw(child.id().cast_signed()), signal).unwrap();
            let output = child.wait_with_output().unwrap();
            bench.assert_free(&name);
            if signal == Signal::SIGKILL {
                assert_eq!(output.status.signal(), Some(9), "{name}");
                assert_eq!(bench.outputs(), [".x.qcow2.build"], "{name}");
            } else {
                let text = said(&output);
                assert_eq!(output.status.code(), Some(128 + signal as i32), "{name}: {text}");
                let last = format!("ferrite-image: ended by {signal}; nothing is left behind\n");
                assert!(text.ends_with(&last), "{name}: {text}");
                assert_eq!(bench.outputs(), Vec::<String>::new(), "{name}");
            }
        }
    }
    // the last one was killed for good
    let output = bench.command(&bench.spec("20250101T000000Z", "")).output().unwrap();
    let text = said(&output);
    assert!(output.status.success(), "{text}");
    assert!(text.contains("removed what a build that was killed left behind\n"), "{text}");
    assert_eq!(bench.outputs(), ["x.qcow2", "x.qcow2.json"]);
}

#[test]
fn a_worker_that_is_killed_is_cleared_up_after() {
    let bench = Bench::new();
    let spec = bench.spec("20250101T000000Z", WAIT);
    let mut child = bench.start(&spec);
    wait_for(&bench.path("out/.x.qcow2.build/own/reached"), &mut child);
    let second = bench.command(&spec).output().unwrap();
    let text = said(&second);
    assert!(text.contains("another build of ") && text.contains("; wait for it"), "{text}");

    kill(worker(&child), Signal::SIGKILL).unwrap();
    let output = child.wait_with_output().unwrap();
    let text = said(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("the build was killed (signal: 9 (SIGKILL)); nothing is left"), "{text}");
    assert_eq!(bench.outputs(), Vec::<String>::new());
    bench.assert_free("a killed worker");
}
