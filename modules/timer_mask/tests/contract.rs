//! The built binary on trees of files; what systemd itself says about them is asked where the
//! host has `systemctl`.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use harness::{Module, check_apply_again, tree};
use serde_json::json;

const UNIT: &str =
    "[Unit]\nDescription=x\n[Timer]\nOnCalendar=daily\n[Install]\nWantedBy=timers.target\n";

/// A tree with an enabled `x.timer` of a package, without a running systemd.
fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let units = root.path().join("usr/lib/systemd/system");
    std::fs::create_dir_all(&units).unwrap();
    std::fs::create_dir_all(root.path().join("etc/systemd/system/timers.target.wants")).unwrap();
    std::fs::write(units.join("x.timer"), UNIT).unwrap();
    symlink(
        "/usr/lib/systemd/system/x.timer",
        root.path().join("etc/systemd/system/timers.target.wants/x.timer"),
    )
    .unwrap();
    root
}

fn module(root: &Path, timers: &[&str], state: &str) -> Module {
    Module::new(env!("CARGO_BIN_EXE_timer_mask"))
        .args(json!({"timers": timers, "state": state, "root": root}))
}

/// What systemctl says about a unit of the tree.
fn is_enabled(root: &Path, unit: &str) -> String {
    let output = Command::new("systemctl")
        .arg(format!("--root={}", root.display()))
        .args(["is-enabled", unit])
        .output()
        .unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

#[test]
fn g13_masks_on_files_without_systemd() {
    let root = root();
    let masked = module(root.path(), &["x.timer"], "masked");
    let cycle = check_apply_again(&masked, || tree(root.path()));
    assert_eq!(cycle.real.ok()["timers"][0]["state"], "masked");
    assert_eq!(
        cycle.real.ok()["timers"][0]["notes"],
        json!(["no systemd is running here; nothing was started or stopped"])
    );
    assert_eq!(is_enabled(root.path(), "x.timer"), "masked");
    assert!(!root.path().join("etc/systemd/system/timers.target.wants/x.timer").is_symlink());
}

#[test]
fn unmasking_gives_back_what_was_there() {
    let root = root();
    let before = tree(root.path().join("etc"));
    assert!(module(root.path(), &["x.timer"], "masked").run().changed());
    let unmasked = module(root.path(), &["x.timer"], "unmasked");
    check_apply_again(&unmasked, || tree(root.path()));
    assert_eq!(tree(root.path().join("etc")), before);
    assert_eq!(is_enabled(root.path(), "x.timer"), "enabled");
}

#[test]
fn g05_presets_do_not_bring_a_masked_timer_back() {
    let root = root();
    let preset = || {
        Command::new("systemctl")
            .arg(format!("--root={}", root.path().display()))
            .args(["preset", "x.timer"])
            .output()
            .unwrap()
    };
    let folder = root.path().join("usr/lib/systemd/system-preset");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("90-x.preset"), "enable *\n").unwrap();
    std::fs::remove_file(root.path().join("etc/systemd/system/timers.target.wants/x.timer"))
        .unwrap();
    assert!(preset().status.success());
    assert_eq!(is_enabled(root.path(), "x.timer"), "enabled");

    assert!(module(root.path(), &["x.timer"], "masked").run().changed());
    preset();
    assert_eq!(is_enabled(root.path(), "x.timer"), "masked");
    assert!(!module(root.path(), &["x.timer"], "masked").run().changed());
}

#[test]
fn g06_a_file_in_the_way_fails_and_nothing_is_touched() {
    let root = root();
    std::fs::write(root.path().join("etc/systemd/system/local.timer"), UNIT).unwrap();
    symlink("/opt/linked.timer", root.path().join("etc/systemd/system/linked.timer")).unwrap();
    let before = tree(root.path());
    for (timer, wanted) in [
        ("local.timer", "local.timer is a unit file of this machine's own"),
        ("linked.timer", "linked.timer is a symlink to /opt/linked.timer"),
    ] {
        // the good timer beside it is not touched either
        for module in [
            module(root.path(), &["x.timer", timer], "masked").check(),
            module(root.path(), &["x.timer", timer], "masked"),
        ] {
            let outcome = module.run();
            assert!(outcome.failed().contains(wanted), "{}", outcome.failed());
            assert_eq!(tree(root.path()), before);
        }
    }
}

#[test]
fn g07_a_unit_that_is_not_installed_is_masked_with_a_note() {
    let root = root();
    let masked = module(root.path(), &["nothere.timer"], "masked");
    let cycle = check_apply_again(&masked, || tree(root.path()));
    let timer = &cycle.real.ok()["timers"][0];
    assert_eq!(timer["notes"][0], "nothere.timer is not installed");
    assert_eq!(is_enabled(root.path(), "nothere.timer"), "masked");
}

#[test]
fn g09_an_old_enable_link_goes_and_unmask_leaves_the_timer_as_it_was() {
    let root = root();
    symlink("/dev/null", root.path().join("etc/systemd/system/x.timer")).unwrap();
    let masked = module(root.path(), &["x.timer"], "masked");
    let cycle = check_apply_again(&masked, || tree(root.path()));
    assert_eq!(
        cycle.real.plan()[1],
        "disable x.timer: remove link /etc/systemd/system/timers.target.wants/x.timer"
    );
    std::fs::remove_file(root.path().join("etc/systemd/system/x.timer")).unwrap();
    assert_eq!(is_enabled(root.path(), "x.timer"), "disabled");
}

#[test]
fn g11_an_empty_file_is_a_mask_and_stays() {
    let root = root();
    let empty = root.path().join("etc/systemd/system/empty.timer");
    std::fs::write(&empty, "").unwrap();
    let outcome = module(root.path(), &["empty.timer"], "masked").run();
    assert!(!outcome.changed());
    assert_eq!(outcome.ok()["timers"][0]["state"], "masked");
    assert_eq!(outcome.ok()["timers"][0]["notes"][1], "empty.timer is masked by an empty file");
    assert!(module(root.path(), &["empty.timer"], "unmasked").run().changed());
    assert!(!empty.exists());
}

#[test]
fn links_that_lead_out_of_the_tree_do_not() {
    let root = root();
    let outside = tempfile::tempdir().unwrap();
    std::fs::remove_dir_all(root.path().join("etc/systemd")).unwrap();
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    symlink(outside.path(), root.path().join("etc/systemd")).unwrap();
    assert!(module(root.path(), &["x.timer"], "masked").run().changed());
    assert_eq!(std::fs::read_dir(outside.path()).unwrap().count(), 0);
}

#[test]
fn wrong_options_are_refused() {
    let binary = Module::new(env!("CARGO_BIN_EXE_timer_mask"));
    let table = [
        (json!({"timers": []}), "option timers: at least one timer is needed"),
        (
            json!({"timers": ["apt-daily"]}),
            "option timers: 'apt-daily' has no suffix .timer; did you mean 'apt-daily.timer'?",
        ),
        (
            json!({"timers": ["x.timer"], "root": "/nonexistent/tree"}),
            "root '/nonexistent/tree' is not an absolute path of an existing folder",
        ),
    ];
    for (args, wanted) in table {
        assert_eq!(binary.clone().args(args).run().failed(), wanted);
    }
}
