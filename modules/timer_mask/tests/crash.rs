//! Killed at each system call that changes something: what is left is a tree that a second run
//! finishes, and from which unmasking leads back to how it was.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use harness::{Core, Module, tree};
use serde_json::{Value, json};

const CALLS: [&str; 6] = ["mkdir", "openat", "write", "rename", "symlink", "unlink"];

fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let units = root.path().join("usr/lib/systemd/system");
    let wants = root.path().join("etc/systemd/system/timers.target.wants");
    std::fs::create_dir_all(&units).unwrap();
    std::fs::create_dir_all(&wants).unwrap();
    for name in ["a.timer", "b.timer"] {
        std::fs::write(units.join(name), "[Install]\nWantedBy=timers.target\n").unwrap();
        symlink(format!("/usr/lib/systemd/system/{name}"), wants.join(name)).unwrap();
    }
    root
}

fn args(root: &Path, state: &str) -> Value {
    json!({"timers": ["a.timer", "b.timer"], "state": state, "root": root})
}

/// Runs the module and kills it when it enters this call for the `nth` time; true if it was
/// killed, false if it came to its end before.
fn killed(root: &Path, state: &str, call: &str, nth: usize) -> bool {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Value::Object(Core::default().reserved("timer_mask"));
    for (key, value) in args(root, state).as_object().unwrap() {
        all[key] = value.clone();
    }
    let file = folder.path().join("args");
    std::fs::write(&file, all.to_string()).unwrap();
    let status = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", &format!("trace={call}"), "-e"])
        .arg(format!("inject={call}:signal=SIGKILL:when={nth}"))
        .arg(env!("CARGO_BIN_EXE_timer_mask"))
        .arg(&file)
        .output()
        .unwrap()
        .status;
    !status.success()
}

fn run(root: &Path, state: &str) -> bool {
    Module::new(env!("CARGO_BIN_EXE_timer_mask")).args(args(root, state)).run().changed()
}

#[test]
fn killed_anywhere_a_second_run_finishes() {
    let mut kills = 0;
    for call in CALLS {
        for nth in 1.. {
            let root = root();
            let etc = root.path().join("etc");
            let before = tree(&etc);
            let masking = killed(root.path(), "masked", call, nth);
            run(root.path(), "masked");
            assert!(!run(root.path(), "masked"), "{call} {nth}");
            let masked = tree(&etc);
            assert!(masked.values().filter(|value| value.contains("/dev/null")).count() == 2);
            assert!(masked.keys().all(|path| !path.contains("ferrite")), "{call} {nth} {masked:?}");

            let unmasking = killed(root.path(), "unmasked", call, nth);
            run(root.path(), "unmasked");
            assert!(!run(root.path(), "unmasked"), "{call} {nth}");
            assert_eq!(tree(&etc), before, "{call} {nth}");
            kills += usize::from(masking) + usize::from(unmasking);
            if !masking && !unmasking {
                break;
            }
        }
    }
    assert!(kills > 40, "only {kills} points were tried");
}
