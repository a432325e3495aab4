//! Whole tasks: names, relations, fall-backs, and what is said about them.

use serde_json::{Map, Value, json};

use super::validate::{Request, validate};
use crate::result::Scrubber;
use crate::spec::Spec;
use crate::{Meta, RequiredIf, Run};

const META: Meta = Meta {
    name: "probe",
    mutually_exclusive: &[&["password", "token"], &["size", "free"]],
    required_together: &[&["token_id", "token"]],
    required_one_of: &[&["name", "vmid"]],
    required_if: &[
        RequiredIf { option: "state", value: "present", needs: &["node"], any: false },
        RequiredIf { option: "state", value: "moved", needs: &["node", "size"], any: true },
    ],
    ..Meta::DEFAULT
};

fn spec() -> Spec {
    Spec::from_schema(&json!({
        "properties": {
            "name": {"type": ["string", "null"], "x-aliases": ["title", "label"]},
            "vmid": {"type": ["integer", "null"]},
            "node": {"type": ["string", "null"], "x-env": ["NODE", "OLD_NODE"]},
            "state": {"enum": ["present", "absent", "moved"], "default": "absent"},
            "size": {"type": ["integer", "null"], "x-env": ["SIZE"]},
            "free": {"type": ["boolean", "null"]},
            "password": {"type": ["string", "null"], "x-no-log": true, "x-env": ["PASSWORD"]},
            "token_id": {"type": ["string", "null"]},
            "token": {"type": ["string", "null"], "x-no-log": true, "x-env": ["TOKEN"]},
            "disk": {"type": ["object", "null"], "properties": {
                "key": {"type": "string", "x-no-log": true},
                "volume": {"type": ["string", "null"], "x-aliases": ["vol"]},
            }},
        },
    }))
}

struct Ran {
    outcome: Result<Value, String>,
    warnings: Vec<String>,
    secrets: Vec<String>,
}

fn ran(arguments: Value, env: &[(&str, &str)], request: Request) -> Ran {
    let Value::Object(arguments) = arguments else { panic!("options are an object") };
    let run = Run::default();
    let env = |name: &str| {
        env.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
    };
    let outcome = validate(&spec(), &META, &request, arguments, &env, &run)
        .map(Value::Object)
        .map_err(|failure| failure.message().to_owned());
    Ran { outcome, warnings: run.warnings(), secrets: run.secrets() }
}

fn plain(arguments: Value) -> Result<Value, String> {
    ran(arguments, &[], Request { module: "ferrite.pve.probe".into(), ..Request::default() })
        .outcome
}

#[test]
fn relations_are_checked_in_ansibles_words() {
    for (name, given, expected) in [
        ("fine", json!({"name": "a"}), Ok(json!({"name": "a"}))),
        ("none of", json!({}), Err("one of the following is required: name, vmid")),
        (
            "null is none",
            json!({"name": null}),
            Err("one of the following is required: name, vmid"),
        ),
        (
            "exclusive",
            json!({"name": "a", "size": 1, "free": true}),
            Err("parameters are mutually exclusive: size|free"),
        ),
        (
            "both exclusive",
            json!({"name": "a", "size": 1, "free": 0, "password": "a", "token": "b", "token_id": "c"}),
            Err("parameters are mutually exclusive: password|token, size|free"),
        ),
        (
            "unset excludes nothing",
            json!({"name": "a", "size": "", "free": true}),
            Ok(json!({"name": "a", "free": true})),
        ),
        (
            "together",
            json!({"name": "a", "token": "t"}),
            Err("parameters are required together: token_id, token"),
        ),
        (
            "all",
            json!({"name": "a", "state": "present"}),
            Err("state is present but all of the following are missing: node"),
        ),
        (
            "any",
            json!({"name": "a", "state": "moved"}),
            Err("state is moved but any of the following are missing: node, size"),
        ),
        (
            "any is enough",
            json!({"name": "a", "state": "moved", "size": 1}),
            Ok(json!({"name": "a", "state": "moved", "size": 1})),
        ),
        (
            "several at once",
            json!({"vmid": "x", "state": "gone"}),
            Err(
                "argument 'vmid' is of type <class 'str'> and we were unable to convert to int: \"'x'\" cannot be converted to an int; value of state must be one of: present, absent, moved, got: gone; one of the following is required: name, vmid",
            ),
        ),
    ] {
        assert_eq!(plain(given), expected.map_err(str::to_owned), "{name}");
    }
}

#[test]
fn unknown_options_are_refused_and_the_likely_one_is_named() {
    let supported = "Supported parameters include: disk, free, name, node, password, size, state, token, token_id, vmid (label, title).";
    for (given, unknown, hint) in [
        (json!({"name": "a", "colour": 1}), "colour", ""),
        (json!({"nmae": "a", "vmid": 1}), "nmae", " Did you mean 'name' instead of 'nmae'?"),
        (json!({"vmid": 1, "tilte": "a"}), "tilte", " Did you mean 'title' instead of 'tilte'?"),
        (json!({"vmid": 1, "z": 1, "b": 2}), "b, z", ""),
    ] {
        let expected = format!(
            "Unsupported parameters for (ferrite.pve.probe) module: {unknown}. {supported}{hint}"
        );
        assert_eq!(plain(given), Err(expected));
    }
    let request = Request { ignore_unknown: true, ..Request::default() };
    let given = json!({"vmid": 1, "z": 1, "disk": {"key": "secret", "y": 1}});
    assert_eq!(ran(given, &[], request).outcome, Ok(json!({"vmid": 1, "disk": {"key": "secret"}})));
}

#[test]
fn an_alias_stands_for_its_option_and_wins_with_a_warning() {
    assert_eq!(plain(json!({"title": "a"})), Ok(json!({"name": "a"})));
    let both = ran(json!({"name": "a", "label": "b"}), &[], Request::default());
    assert_eq!(both.outcome, Ok(json!({"name": "b"})));
    assert_eq!(both.warnings, ["Both option name and its alias label are set."]);
    let inner = ran(
        json!({"name": "a", "disk": {"key": "kkkk", "volume": "a", "vol": "b"}}),
        &[],
        Request::default(),
    );
    assert_eq!(inner.outcome, Ok(json!({"name": "a", "disk": {"key": "kkkk", "volume": "b"}})));
    assert_eq!(inner.warnings, ["Both option disk.volume and its alias disk.vol are set."]);
}

#[test]
fn the_environment_stands_in_for_what_the_task_does_not_say() {
    let env =
        [("NODE", ""), ("OLD_NODE", "pve1"), ("SIZE", "5"), ("PASSWORD", "from the environment")];
    for (name, given, expected) in [
        (
            "taken and coerced",
            json!({"name": "a"}),
            json!({"name": "a", "node": "pve1", "size": 5, "password": "from the environment"}),
        ),
        (
            "the task comes first",
            json!({"name": "a", "node": "pve2", "size": 1}),
            json!({"name": "a", "node": "pve2", "size": 1, "password": "from the environment"}),
        ),
        (
            "an empty task value gives way",
            json!({"name": "a", "size": "", "node": null}),
            json!({"name": "a", "size": 5, "node": "pve1", "password": "from the environment"}),
        ),
        (
            "what the task excludes is not taken",
            json!({"name": "a", "free": true, "token": "tttt", "token_id": "i"}),
            json!({"name": "a", "free": true, "token": "tttt", "token_id": "i", "node": "pve1"}),
        ),
    ] {
        let got = ran(given, &env, Request::default()).outcome.unwrap();
        let sorted = |value: &Value| {
            value
                .as_object()
                .unwrap()
                .iter()
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect::<std::collections::BTreeMap<_, _>>()
        };
        assert_eq!(sorted(&got), sorted(&expected), "{name}");
    }
    let wrong = ran(json!({"name": "a"}), &[("SIZE", "big")], Request::default()).outcome;
    assert!(wrong.unwrap_err().starts_with("argument 'size' is of type <class 'str'>"));
}

#[test]
fn secrets_are_known_however_they_are_written_and_whatever_else_is_wrong() {
    for (given, env) in [
        (json!({"password": "hunter2"}), None),
        (json!({"password": ["hunter2"]}), None),
        (json!({"password": "hunter2", "nmae": 1}), None),
        (json!({"disk": {"key": "hunter2"}}), None),
        (json!({"disk": "key=hunter2"}), None),
        (json!({"disk": "{'key': 'hunter2'}"}), None),
        (json!({"disk": "hunter2"}), None),
        (json!({"name": "a"}), Some(("PASSWORD", "hunter2"))),
    ] {
        let env: Vec<_> = env.into_iter().collect();
        let ran = ran(given.clone(), &env, Request::default());
        assert!(ran.secrets.contains(&"hunter2".to_owned()), "{given}");
        let mut result = Map::new();
        result.insert("msg".into(), format!("{:?}", ran.outcome).into());
        let shown = Value::Object(Scrubber::new(&ran.secrets).result(result)).to_string();
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
