//! What Ansible sees of a module, whatever the module does.

use std::path::Path;

use harness::{Core, Module, check_apply_again, tree};
use proptest::prelude::*;
use serde_json::{Value, json};

const SECRET: &str = "correct \"horse\" bättery/staple";

fn probe() -> Module {
    Module::new(env!("CARGO_BIN_EXE_probe"))
}

fn lines(dir: &Path, lines: &[&str]) -> Module {
    probe().args(json!({"path": dir.join("file"), "lines": lines}))
}

#[test]
fn check_then_apply_then_again_with_every_core() {
    for core in Core::ALL {
        let dir = tempfile::tempdir().unwrap();
        let module = lines(dir.path(), &["one", "two"]).core(core);
        let cycle = check_apply_again(&module, || tree(dir.path()));
        assert_eq!(cycle.check.plan(), ["append one", "append two"]);
        assert_eq!(cycle.check.result["lines"], json!([]), "check mode returns the state before");
        assert_eq!(cycle.check.result["diff"], json!({"prepared": "append one\nappend two\n"}));
        assert_eq!(cycle.real.result["lines"], json!(["one", "two"]), "what was read back");
        assert!(cycle.again.result.get("diff").is_none());
        assert_eq!(cycle.again.plan(), [""; 0]);
    }
}

#[test]
fn diffs_of_the_module_end_in_a_newline() {
    let dir = tempfile::tempdir().unwrap();
    let module = lines(dir.path(), &["one"]).arg("locked", false);
    assert!(module.run().result.get("diff").is_none(), "nobody asked for it");
    let shown = lines(dir.path(), &["one", "two"]).arg("locked", "no").check().diff().run();
    assert_eq!(shown.result["diff"][0]["before"], "one\n");
    assert_eq!(shown.result["diff"][0]["after"], "one\ntwo\n");
}

#[test]
fn options_are_checked_before_anything_is_touched() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("file");
    for (name, args, message) in [
        ("missing", json!({}), "missing required arguments: path".to_owned()),
        ("unknown", json!({"path": path, "line": ["a"]}),
            "Unsupported parameters for (ferrite.pve.probe) module: line. Supported parameters include: echo, even, lines, locked, misbehave, password, path (dest). Did you mean 'lines' instead of 'line'?".to_owned()),
        ("choice", json!({"path": path, "misbehave": "yes"}),
            "value of misbehave must be one of: no, panic_in_observe, panic_in_apply, fail_in_apply, not_converge, stale_once, stale_always, settled, got: yes".to_owned()),
        ("relation", json!({"path": path, "locked": "yes"}), "locked is True but all of the following are missing: password".to_owned()),
        ("a type's own rule in a flattened part", json!({"path": path, "lines": ["a"], "even": "3"}), "value of even is not valid: 3 is not even".to_owned()),
        ("a type's own limit", json!({"path": path, "even": "-2"}), "value of even must be at least 0, got: -2".to_owned()),
    ] {
        for module in [probe().args(args.clone()), probe().args(args.clone()).check()] {
            assert_eq!(module.run().failed(), message, "{name}");
        }
        assert!(!path.exists());
    }
    let without_name = probe().reserved("_ansible_module_name", "").arg("x", 1).run();
    assert!(without_name.failed().starts_with("Unsupported parameters for (probe) module: x."));
}

#[test]
fn every_spelling_of_a_task_is_one_task() {
    for args in [
        json!({"lines": ["5", "x"], "even": 2}),
        json!({"lines": [5, "x", "__omit_place_holder__1"], "even": "2"}),
        json!({"lines": "5, x", "even": "2.0", "locked": "", "password": null}),
        json!({"lines": "['5', 'x']", "misbehave": false, "even": ""}),
    ] {
        let dir = tempfile::tempdir().unwrap();
        let done =
            probe().args(args.clone()).arg("dest", dir.path().join("f").to_str().unwrap()).run();
        assert!(done.changed());
        assert_eq!(done.result["lines"], json!(["5", "x"]), "{args}");
    }
}

#[test]
fn a_failure_half_way_says_what_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let failed =
        lines(dir.path(), &["one", "two", "three"]).arg("misbehave", "fail_in_apply").run();
    assert_eq!(failed.failed(), "failed to append two: the disk is full");
    assert_eq!(failed.result["changed"], true);
    assert_eq!(failed.result["done"], json!(["append one"]));
    assert_eq!(failed.result["left"], json!(["append two", "append three"]));
    assert!(lines(dir.path(), &["one", "two", "three"]).run().changed(), "the next run finishes");
}

#[test]
fn a_plan_that_does_not_converge_is_a_failure_and_names_what_is_left() {
    let dir = tempfile::tempdir().unwrap();
    let failed = lines(dir.path(), &["one", "two"]).arg("misbehave", "not_converge").run();
    assert_eq!(
        failed.failed(),
        "did not converge: after all changes were made there is still to do: append one; append two"
    );
    assert_eq!(failed.result["changed"], true);
    let settled = lines(dir.path(), &[]).arg("misbehave", "settled").run();
    assert!(settled.changed());
    assert_eq!(settled.plan(), ["restart it"]);
}

#[test]
fn a_state_that_changed_under_the_plan_is_read_once_more() {
    let dir = tempfile::tempdir().unwrap();
    let done = lines(dir.path(), &["one", "two"]).arg("misbehave", "stale_once").run();
    assert!(done.changed());
    assert_eq!(done.plan(), ["append one", "append two"]);
    assert_eq!(
        done.warnings(),
        [
            "the state changed while it was being worked on; it was read anew, the plan is still the same"
        ]
    );
    let dir = tempfile::tempdir().unwrap();
    let failed = lines(dir.path(), &["one"]).arg("misbehave", "stale_always").run();
    assert_eq!(failed.failed(), "failed to append one: somebody was here");
    assert_eq!(failed.result["changed"], false);
    assert_eq!(failed.result["left"], json!(["append one"]));
}

#[test]
fn a_panic_is_a_failure_like_any_other() {
    let dir = tempfile::tempdir().unwrap();
    let failed = lines(dir.path(), &[])
        .args(json!({"misbehave": "panic_in_observe", "password": SECRET}))
        .run();
    assert!(failed.failed().starts_with("internal error: seen ******** at \u{2028} ("));
    failed.hides(SECRET);
    let failed = lines(dir.path(), &["one", "two"]).arg("misbehave", "panic_in_apply").run();
    assert!(failed.failed().starts_with("internal error: no second step ("));
    assert_eq!(failed.result["changed"], true);
    assert_eq!(failed.result["done"], json!(["append one"]));
}

#[test]
fn secrets_are_in_no_part_of_a_result() {
    let dir = tempfile::tempdir().unwrap();
    let echo = json!({"plain": SECRET, "in": format!("<{SECRET}>"), SECRET: {SECRET: [SECRET]}});
    let told = lines(dir.path(), &[SECRET, "x"]).args(json!({"password": SECRET, "echo": echo}));
    let done = told.clone().diff().run();
    assert!(done.changed());
    done.hides(SECRET);
    assert_eq!(done.warnings(), ["the password is ********"]);
    assert_eq!(done.plan(), ["append ********", "append x"]);
    // a failure that returns what it found, one that cites an option, and one from the environment
    lines(dir.path(), &["other"]).arg("password", SECRET).run().hides(SECRET).failed();
    lines(dir.path(), &[])
        .args(json!({"password": SECRET, SECRET: 1, "even": SECRET}))
        .run()
        .hides(SECRET)
        .failed();
    let env = lines(dir.path(), &[SECRET, "x"]).env("PROBE_PASSWORD", SECRET).arg("echo", SECRET);
    env.run().hides(SECRET).ok();
}

#[test]
fn keys_that_mean_something_to_ansible_are_moved_out_of_the_way() {
    let dir = tempfile::tempdir().unwrap();
    let echo = json!({
        "changed": "no", "failed": true, "ansible_facts": {"ansible_connection": "local"}, "rc": 1,
        "results": {}, "_ansible_no_log": 1, "fine": {"__ansible_type": "Foo", "_ansible_x": 1},
    });
    let done = lines(dir.path(), &[]).arg("echo", echo).run();
    assert!(!done.changed());
    for key in ["ansible_facts", "failed", "rc", "results", "_ansible_no_log"] {
        assert!(done.result.get(key).is_none(), "{key}: {}", done.stdout);
    }
    assert_eq!(done.result["returned_failed"], true);
    assert_eq!(done.result["fine"], json!({"x__ansible_type": "Foo", "x_ansible_x": 1}));
    assert!(!done.stdout.contains("\"__ansible") && !done.stdout.contains("\"_ansible"));
}

#[test]
fn arguments_may_come_on_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    for path in ["-", "/dev/stdin"] {
        assert!(lines(dir.path(), &["one"]).check().run_stdin(path).changed(), "{path}");
    }
}

#[test]
fn a_broken_arguments_file_is_a_failure() {
    for (content, message) in [
        (&b""[..], "is not JSON: EOF while parsing a value at line 1 column 0"),
        (b"{", "is not JSON: EOF while parsing an object"),
        (b"[]", "does not hold a JSON object"),
        (b"\xff\xfe", "is not JSON: "),
        (b"{\"path\": \"\xff\"}", "is not JSON: "),
        (b"{} {}", "is not JSON: trailing characters"),
    ] {
        let failed = probe().run_file(content);
        assert!(failed.failed().contains(message), "{}", failed.stdout);
    }
    let deep = "[".repeat(1_000_000);
    assert!(probe().run_file(deep.as_bytes()).failed().contains("recursion limit exceeded"));
}

#[test]
fn an_output_that_cannot_be_written_is_no_panic() {
    let dir = tempfile::tempdir().unwrap();
    let args = dir.path().join("args");
    std::fs::write(&args, json!({"path": dir.path().join("f")}).to_string()).unwrap();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_probe"))
        .arg(&args)
        .stdout(full)
        .stderr(std::process::Stdio::piped())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}

#[test]
fn a_person_is_told_what_this_is() {
    let help = probe().run_plain(&["--help"]);
    assert!(help.stdout.starts_with("probe: Keep lines in a file.\n"), "{}", help.stdout);
    assert!(help.stdout.contains("ansible-doc ferrite.pve.probe"));
    assert_eq!(help.status, 0);
    let bare = probe().run_plain(&[]);
    assert_eq!((bare.stdout, bare.status), (help.stdout, 1));
    let too_many = probe().run_plain(&["a", "b"]);
    assert_eq!(too_many.status, 1);
    assert!(too_many.stdout.contains("expected one argument"));
    let gone = probe().run_plain(&["/nowhere/args"]);
    assert!(gone.stdout.contains("cannot read /nowhere/args: No such file or directory"));
}

#[test]
fn a_description_holds_documentation_and_argument_spec() {
    let described: Value =
        serde_json::from_str(&probe().run_plain(&["--describe"]).stdout).unwrap();
    assert_eq!(described["name"], "probe");
    assert_eq!(described["argument_spec"]["options"]["password"]["no_log"], true);
    assert_eq!(described["DOCUMENTATION"]["options"]["even"]["type"], "int");
    assert_eq!(described["RETURN"]["echo"]["returned"], "when given");
}

#[test]
fn options_can_be_validated_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("args");
    for (args, status) in [(json!({"path": "/x", "lines": "a,b"}), 0), (json!({"pth": "/x"}), 1)] {
        std::fs::write(&file, args.to_string()).unwrap();
        let ran = probe().run_plain(&["--validate", file.to_str().unwrap()]);
        assert_eq!(ran.status, status, "{}", ran.stdout);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// The harness asserts the one line.
    #[test]
    fn any_arguments_file_yields_one_line(
        text in prop_oneof![
            ".{0,60}",
            "\\{(\"(path|lines|even|echo|locked|_ansible_diff)\": ?(1|-1|null|true|\"\"|\"a=b\"|\\[\\]|\\{\\}|1e400|\"\\\\u2028\"),?){0,4}\\}",
        ],
        flipped in any::<Option<(usize, u8)>>(),
    ) {
        let mut bytes = text.into_bytes();
        if let Some((index, byte)) = flipped && !bytes.is_empty() {
            let index = index % bytes.len();
            bytes[index] = byte;
        }
        let _ = probe().run_file(&bytes);
    }
}
