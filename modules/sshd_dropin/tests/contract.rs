//! The built binary and its options, and trees without a sshd. What needs a sshd is in `guest.rs`.

use harness::{Module, tree};
use serde_json::{Value, json};

fn module(args: Value) -> Module {
    Module::new(env!("CARGO_BIN_EXE_sshd_dropin")).args(args)
}

#[test]
fn wrong_options_are_refused_before_anything_is_looked_at() {
    let root = tempfile::tempdir().unwrap();
    let table = [
        (json!({"content": "x"}), "missing required arguments: name"),
        (json!({"name": "10-x.conf"}), "state present needs settings, match or content"),
        (
            json!({"name": "x", "content": "x"}),
            "option name: 'x' is not the name of a drop-in; it needs letters, digits and -_.+ \
             only, does not begin with a dot and ends in .conf",
        ),
        (
            json!({"name": "x.conf", "content": "x", "settings": {"Port": 1}}),
            "parameters are mutually exclusive: settings|content",
        ),
        (
            json!({"name": "x.conf", "content": "x", "reload": "maybe"}),
            "value of reload must be one of: auto, no, got: maybe",
        ),
        (
            json!({"name": "x.conf", "settings": {"Include": "/etc/x"}}),
            "option settings: 'include' is not a setting; use the option match, or content",
        ),
        (
            json!({"name": "x.conf", "content": "x", "verify_for": ["bob"]}),
            "option verify_for: 'bob' is not a list like user=ann,addr=192.0.2.7",
        ),
    ];
    for (mut args, wanted) in table {
        args["root"] = json!(root.path());
        assert_eq!(module(args).run().failed(), wanted);
    }
    assert!(tree(root.path()).is_empty());
}

#[test]
fn a_tree_without_sshd() {
    let root = tempfile::tempdir().unwrap();
    // `no` is a boolean in YAML
    let args = json!({"name": "x.conf", "content": "x", "reload": false, "root": root.path()});
    let outcome = module(args).run();
    assert_eq!(outcome.failed(), "/etc/ssh/sshd_config is not there; is openssh-server installed?");
    let absent = json!({"name": "x.conf", "state": "absent", "root": root.path()});
    assert!(!module(absent).run().changed());
    assert!(tree(root.path()).is_empty());
}

#[test]
fn what_stands_in_the_way_is_named() {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir_all(root.path().join("etc/ssh/sshd_config.d/x.conf")).unwrap();
    let before = tree(root.path());
    for state in ["present", "absent"] {
        let args = json!({"name": "x.conf", "content": "x", "state": state, "root": root.path()});
        assert_eq!(
            module(args).run().failed(),
            "/etc/ssh/sshd_config.d/x.conf is a folder or a special file, not a drop-in"
        );
        assert_eq!(tree(root.path()), before);
    }
}
