//! The built binary on trees of files.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]
use std::os::unix::fs::symlink;
use std::path::Path;

use harness::{Module, check_apply_again, tree};
use serde_json::json;

fn root() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let zones = root.path().join("usr/share/zoneinfo");
    std::fs::create_dir_all(zones.join("Europe")).unwrap();
    std::fs::create_dir_all(root.path().join("etc")).unwrap();
    std::fs::write(zones.join("Europe/Vienna"), "TZif2").unwrap();
    std::fs::write(zones.join("tzdata.zi"), "# version 2026a\nZ Europe/Vienna 1:5:21 - LMT\n")
        .unwrap();
    root
}

fn module(root: &Path, name: &str) -> Module {
    Module::new(env!("CARGO_BIN_EXE_timezone")).args(json!({"name": name, "root": root}))
}

#[test]
fn sets_both_files() {
    let root = root();
    let etc = root.path().join("etc");
    symlink("/usr/share/zoneinfo/Etc/UTC", etc.join("localtime")).unwrap();
    let cycle = check_apply_again(&module(root.path(), "Europe/Vienna"), || tree(root.path()));
    assert_eq!(cycle.real.ok()["localtime"], "Europe/Vienna");
    assert_eq!(
        std::fs::read_link(etc.join("localtime")).unwrap(),
        Path::new("/usr/share/zoneinfo/Europe/Vienna")
    );
    assert_eq!(std::fs::read_to_string(etc.join("timezone")).unwrap(), "Europe/Vienna\n");
}

#[test]
fn a_copy_in_place_of_the_link_is_replaced() {
    let root = root();
    std::fs::write(root.path().join("etc/localtime"), "TZif2").unwrap();
    let cycle = check_apply_again(&module(root.path(), "Europe/Vienna"), || tree(root.path()));
    assert_eq!(cycle.real.ok()["localtime"], "Europe/Vienna");
}

#[test]
fn what_is_no_zone_is_refused() {
    let root = root();
    let before = tree(root.path());
    for (name, message) in [
        ("Europe/vienna", "tzdata has no time zone 'Europe/vienna' (did you mean Europe/Vienna?)"),
        ("Vienna", "tzdata has no time zone 'Vienna' (did you mean Europe/Vienna?)"),
        ("tzdata.zi", "name 'tzdata.zi' is not the name of a time zone, for example Europe/Vienna"),
        ("Mars/Olympus", "tzdata has no time zone 'Mars/Olympus'"),
    ] {
        assert_eq!(module(root.path(), name).run().failed(), message);
    }
    assert_eq!(tree(root.path()), before);
    std::fs::create_dir(root.path().join("etc/localtime")).unwrap();
    for module in
        [module(root.path(), "Europe/Vienna"), module(root.path(), "Europe/Vienna").check()]
    {
        assert_eq!(
            module.run().failed(),
            "/etc/localtime is a folder, where a link to the time zone has to be; remove it"
        );
    }
    std::fs::remove_dir_all(root.path().join("usr")).unwrap();
    assert_eq!(
        module(root.path(), "Europe/Vienna").run().failed(),
        "there are no time zones in /usr/share/zoneinfo: the package tzdata is not installed"
    );
}
