//! The built binary where nothing is running.

use harness::{Module, tree};
use serde_json::json;

#[test]
fn a_tree_without_systemd_has_no_first_boot() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("var/lib/dpkg")).unwrap();
    std::fs::write(root.path().join("var/lib/dpkg/lock-frontend"), "").unwrap();
    let before = tree(root.path());
    let module = Module::new(env!("CARGO_BIN_EXE_first_boot")).args(json!({"root": root.path()}));
    for outcome in [module.clone().check().run(), module.run()] {
        assert!(!outcome.changed());
        assert_eq!(outcome.ok()["waited"][0]["what"], "/var/lib/dpkg/lock-frontend");
        assert_eq!(outcome.ok()["cloud_init"], json!(null));
    }
    assert_eq!(tree(root.path()), before);
}
