//! Killed at each of its steps: there is a zone at each moment if there was one before, and a
//! second run finishes.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use harness::{Core, Module, crash, tree};
use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_timezone");
const ZONE: &str = "Europe/Vienna";

fn none(root: &Path) {
    let zones = root.join("usr/share/zoneinfo");
    for folder in ["Europe", "Etc"] {
        std::fs::create_dir_all(zones.join(folder)).unwrap();
    }
    std::fs::create_dir_all(root.join("etc")).unwrap();
    for zone in [ZONE, "Etc/UTC"] {
        std::fs::write(zones.join(zone), "TZif2").unwrap();
    }
    let list = format!("# version 2026a\nZ {ZONE} 1:5:21 - LMT\nZ Etc/UTC 0 - UTC\n");
    std::fs::write(zones.join("tzdata.zi"), list).unwrap();
}

fn another(root: &Path) {
    none(root);
    symlink("/usr/share/zoneinfo/Etc/UTC", root.join("etc/localtime")).unwrap();
    std::fs::write(root.join("etc/timezone"), "Etc/UTC\n").unwrap();
}

fn a_copy(root: &Path) {
    none(root);
    std::fs::write(root.join("etc/localtime"), "TZif2").unwrap();
}

fn half(root: &Path) {
    none(root);
    symlink(format!("/usr/share/zoneinfo/{ZONE}"), root.join("etc/localtime")).unwrap();
    std::fs::write(root.join("etc/timezone"), "Etc/UTC\n").unwrap();
}

/// Makes a state to start from.
type Prepare = fn(&Path);

const TABLE: [(&str, Prepare); 4] =
    [("no zone", none), ("another zone", another), ("a copied file", a_copy), ("half", half)];

fn kill(root: &Path, number: usize) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let mut all = Value::Object(Core::default().reserved("timezone"));
    all["name"] = json!(ZONE);
    all["root"] = json!(root);
    let file = folder.path().join("args");
    std::fs::write(&file, all.to_string()).unwrap();
    let words = crash::held(BINARY, file.to_str().unwrap());
    let mut command = Command::new(&words[0]);
    command.args(&words[1..]);
    crash::kill_before(command, number, |_| true)
}

#[test]
fn killed_anywhere_a_second_run_finishes() {
    let mut kills = 0;
    for (name, prepare) in TABLE {
        for number in 1.. {
            let root = tempfile::tempdir().unwrap();
            prepare(root.path());
            let had = root.path().join("etc/localtime").is_symlink();
            let Some(step) = kill(root.path(), number) else { break };
            let told = format!("{name}: killed before step {number}, {step}");
            assert!(!had || root.path().join("etc/localtime").is_symlink(), "{told}");
            let module = Module::new(BINARY).args(json!({"name": ZONE, "root": root.path()}));
            let _ = module.run().changed();
            assert!(!module.run().changed(), "{told}");
            let etc = tree(root.path().join("etc"));
            assert_eq!(etc.keys().collect::<Vec<_>>(), ["localtime", "timezone"], "{told}");
            assert_eq!(etc["localtime"], format!("link to /usr/share/zoneinfo/{ZONE}"), "{told}");
            assert_eq!(etc["timezone"], format!("file 644 {ZONE}\n"), "{told}");
            kills += 1;
        }
    }
    println!("timezone: killed at {kills} points");
    assert!(kills >= 20, "only {kills} points were tried");
}
