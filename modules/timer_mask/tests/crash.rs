//! Killed at each of its steps: what is left is a tree that a second run finishes, and from which
//! unmasking leads back to how it was.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use harness::{Core, Module, crash, tree};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_timer_mask");

/// Two timers that are installed and enabled.
fn enabled(root: &Path) {
    let units = root.join("usr/lib/systemd/system");
    let wants = root.join("etc/systemd/system/timers.target.wants");
    std::fs::create_dir_all(&units).unwrap();
    std::fs::create_dir_all(&wants).unwrap();
    for name in ["a.timer", "b.timer"] {
        std::fs::write(units.join(name), "[Install]\nWantedBy=timers.target\n").unwrap();
        symlink(format!("/usr/lib/systemd/system/{name}"), wants.join(name)).unwrap();
    }
}

/// Masked by hand in two ways, with the links that enabled them still there.
fn by_hand(root: &Path) {
    enabled(root);
    symlink("/dev/null", root.join("etc/systemd/system/a.timer")).unwrap();
    std::fs::write(root.join("etc/systemd/system/b.timer"), "").unwrap();
}

fn masked(root: &Path) {
    enabled(root);
    assert!(module(root, "masked").run().changed());
}

fn spoiled(root: &Path) {
    masked(root);
    std::fs::remove_file(root.join("etc/systemd/system/a.timer")).unwrap();
    symlink(
        "/usr/lib/systemd/system/b.timer",
        root.join("etc/systemd/system/timers.target.wants/b.timer"),
    )
    .unwrap();
}

fn not_installed(root: &Path) {
    std::fs::create_dir_all(root.join("etc")).unwrap();
}

/// Makes a state to start from.
type Prepare = fn(&Path);

/// The states to start from, and what is wanted.
const TABLE: [(&str, Prepare, &str); 6] = [
    ("enabled", enabled, "masked"),
    ("masked by hand", by_hand, "masked"),
    ("masked and spoiled", spoiled, "masked"),
    ("not installed", not_installed, "masked"),
    ("masked", masked, "unmasked"),
    ("masked by hand", by_hand, "unmasked"),
];

fn args(root: &Path, state: &str) -> Value {
    json!({"timers": ["a.timer", "b.timer"], "state": state, "root": root})
}

fn module(root: &Path, state: &str) -> Module {
    Module::new(BINARY).args(args(root, state))
}

/// Kills a run before its step of this number.
fn kill(root: &Path, state: &str, number: usize) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Value::Object(Core::default().reserved("timer_mask"));
    for (key, value) in args(root, state).as_object().unwrap() {
        all[key] = value.clone();
    }
    let file = folder.path().join("args");
    std::fs::write(&file, all.to_string()).unwrap();
    let words = crash::held(BINARY, file.to_str().unwrap());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    crash::kill_before(command, number, |_| true)
}

/// What two runs leave: in the wanted state, and unmasked after it.
fn finished(root: &Path, state: &str, told: &str) -> [BTreeMap<String, String>; 2] {
    [state, "unmasked"].map(|state| {
        let _ = module(root, state).run().changed();
        assert!(!module(root, state).run().changed(), "{told}");
        tree(root.join("etc"))
    })
}

/// Kills runs at every step of a row; gives how many.
fn row(name: &str, prepare: Prepare, state: &str) -> usize {
    let whole = tempfile::tempdir().unwrap();
    prepare(whole.path());
    let wanted = finished(whole.path(), state, name);
    for number in 1.. {
        let root = tempfile::tempdir().unwrap();
        prepare(root.path());
        let Some(step) = kill(root.path(), state, number) else { return number - 1 };
        let told = format!("{name}, {state}: killed before step {number}, {step}");
        assert_eq!(finished(root.path(), state, &told), wanted, "{told}");
    }
    0
}

#[test]
fn killed_anywhere_a_second_run_finishes() {
    let kills: usize = std::thread::scope(|scope| {
        let rows =
            TABLE.map(|(name, prepare, state)| scope.spawn(move || row(name, prepare, state)));
        rows.into_iter().map(|row| row.join().unwrap()).sum()
    });
    println!("timer_mask: killed at {kills} points");
    assert!(kills >= 60, "only {kills} points were tried");
}
