//! Looks at what all modules declare as one set: that every option is described, that what sounds
//! like a secret is one, and that options which modules share are the same everywhere.

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::Value;

use crate::workspace::{Module, Workspace};

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<bool> {
    let wrong = check(&workspace.descriptions()?);
    for sentence in &wrong {
        println!("{sentence}");
    }
    Ok(wrong.is_empty())
}

fn check(modules: &[Module]) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut shared: BTreeMap<&str, (&str, &Value)> = BTreeMap::new();
    for module in modules {
        let name = module.name.as_str();
        let (docs, spec) =
            (&module.description["DOCUMENTATION"]["options"], &module.description["argument_spec"]);
        described(name, docs, &mut wrong);
        described(
            &format!("what is returned by {name}"),
            &module.description["RETURN"],
            &mut wrong,
        );
        secrets(name, &spec["options"], &mut wrong);
        for (option, facts) in entries(&spec["options"]) {
            if !option.starts_with("api_") && option != "validate_certs" && option != "ca_path" {
                continue;
            }
            let (first, known) = shared.entry(option).or_insert((name, facts));
            if *known != facts {
                wrong.push(format!("{name}: {option} is not the same as in {first}"));
            }
        }
        if module.description["groups"].as_array().is_none_or(Vec::is_empty) {
            wrong.push(format!("{name} is in no action group"));
        }
    }
    wrong
}

/// Each entry has a sentence that ends in a full stop.
fn described(at: &str, options: &Value, wrong: &mut Vec<String>) {
    for (option, facts) in entries(options) {
        let at = format!("{at}: {option}");
        let lines = facts["description"].as_array().map(Vec::as_slice).unwrap_or_default();
        let first = lines.first().and_then(Value::as_str).unwrap_or_default();
        if first.is_empty() {
            wrong.push(format!("{at} is not described"));
        } else if !first.ends_with(['.', ':', ')']) {
            wrong.push(format!("{at}: its description does not end in a full stop: {first}"));
        }
        described(&at, &facts["suboptions"], wrong);
        described(&at, &facts["contains"], wrong);
    }
}

fn secrets(at: &str, options: &Value, wrong: &mut Vec<String>) {
    for (option, facts) in entries(options) {
        let sounds_secret = ["password", "secret", "passphrase", "private_key"]
            .iter()
            .any(|word| option.ends_with(word));
        // a path or a choice is no secret, whatever its name
        let is_text = facts["type"] == "str" && facts["choices"].is_null();
        if sounds_secret && is_text && facts["no_log"] != true {
            wrong.push(format!("{at}: {option} is not marked as a secret"));
        }
        secrets(&format!("{at}: {option}"), &facts["options"], wrong);
    }
}

fn entries(value: &Value) -> impl Iterator<Item = (&str, &Value)> {
    value.as_object().into_iter().flatten().map(|(key, value)| (key.as_str(), value))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn module(name: &str, docs: Value, spec: Value) -> Module {
        let description = json!({
            "DOCUMENTATION": {"options": docs}, "argument_spec": {"options": spec}, "groups": ["all"],
        });
        Module { name: name.to_owned(), binary: "x".into(), description }
    }

    #[test]
    fn each_kind_of_carelessness_is_found() {
        for (docs, spec, expected) in [
            (json!({"a": {"description": ["The a."]}}), json!({}), vec![]),
            (json!({"a": {"description": []}}), json!({}), vec!["m: a is not described"]),
            (
                json!({"a": {"description": ["A."], "suboptions": {"b": {"description": ["The b"]}}}}),
                json!({}),
                vec!["m: a: b: its description does not end in a full stop: The b"],
            ),
            (
                json!({}),
                json!({"cipassword": {"type": "str"}, "token_secret": {"type": "str", "no_log": true}}),
                vec!["m: cipassword is not marked as a secret"],
            ),
        ] {
            assert_eq!(check(&[module("m", docs, spec)]), expected);
        }
        let one = module("m", json!({}), json!({"api_port": {"type": "int"}}));
        let other = module("n", json!({}), json!({"api_port": {"type": "str"}}));
        assert_eq!(check(&[one, other]), ["n: api_port is not the same as in m"]);
    }
}
