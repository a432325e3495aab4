//! Checks the examples that a module shows: its own validation must take them as they stand. A
//! template in them stands for some value of the option's type.

use std::fs;
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::workspace::{COLLECTION, Module, Workspace};

/// Where an example says nothing of the connection, it comes from the environment.
const ENVIRONMENT: [(&str, &str); 3] = [
    ("PROXMOX_HOST", "pve1.example.com"),
    ("PROXMOX_TOKEN_ID", "ansible@pve!example"),
    ("PROXMOX_TOKEN_SECRET", "example"),
];

pub(crate) fn run(workspace: &Workspace, _: &[String]) -> Result<bool> {
    let mut all = true;
    for module in workspace.descriptions()? {
        match check(workspace, &module) {
            Ok(count) => println!("{}: {count} examples", module.name),
            Err(error) => {
                all = false;
                println!("{}: {error:#}", module.name);
            }
        }
    }
    Ok(all)
}

/// Checks the examples of one module; says how many there are.
pub(crate) fn check(workspace: &Workspace, module: &Module) -> Result<usize> {
    let text = module.description["EXAMPLES"].as_str().unwrap_or_default();
    let tasks: Vec<Map<String, Value>> =
        serde_yaml_ng::from_str(text).context("examples.yml is not a list of tasks")?;
    let full = format!("{COLLECTION}.{}", module.name);
    let file = workspace.target_dir().join(format!("example-{}.json", module.name));
    let mut count = 0;
    for task in &tasks {
        let name = task.get("name").and_then(Value::as_str).context("an example without a name")?;
        let Some(options) = task.get(&full) else { continue };
        count += 1;
        let Value::Object(options) = options else { bail!("{name}: the options are no mapping") };
        let spec = &module.description["argument_spec"]["options"];
        let filled = |(key, value): (&String, &Value)| (key.clone(), stand_in(value, &spec[key]));
        let validate = |options: Map<String, Value>| -> Result<()> {
            fs::write(&file, Value::Object(options).to_string())?;
            let output = Command::new(&module.binary)
                .arg("--validate")
                .arg(&file)
                .envs(ENVIRONMENT)
                .output()?;
            let result: Value = serde_json::from_slice(&output.stdout).context("no result")?;
            let message = result["msg"].as_str().unwrap_or_default();
            ensure!(output.status.success(), "{name}: {message}");
            Ok(())
        };
        if let Err(error) = validate(options.iter().map(filled).collect()) {
            // some types take no word at all for a stand-in, a fingerprint for example
            let literal = options.iter().filter(|(_, value)| !is_template(value));
            validate(literal.map(filled).collect()).map_err(|_| error)?;
        }
    }
    ensure!(count > 0, "no example uses {full}");
    Ok(count)
}

/// Whether all of a value comes from a variable.
fn is_template(value: &Value) -> bool {
    value.as_str().is_some_and(|text| text.starts_with("{{") && text.ends_with("}}"))
}

/// A value of the right type in place of one that is a template.
fn stand_in(value: &Value, option: &Value) -> Value {
    match value {
        Value::String(_) if is_template(value) => {
            if let Some(choice) = option["choices"].get(0) {
                return choice.clone();
            }
            match option["type"].as_str() {
                Some("int" | "float") => json!(100),
                Some("bool") => json!(true),
                Some("list") => json!([]),
                Some("dict") => json!({}),
                Some("path") => json!("/example"),
                _ => json!("example"),
            }
        }
        Value::String(text) if text.contains("{{") => plain(text).into(),
        Value::Array(items) => {
            items.iter().map(|item| stand_in(item, &json!({"type": option["elements"]}))).collect()
        }
        Value::Object(entries) => entries
            .iter()
            .map(|(key, value)| (key.clone(), stand_in(value, &option["options"][key])))
            .collect(),
        other => other.clone(),
    }
}

/// A text with a word in place of each template.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        out.push_str("example");
        rest = after.split_once("}}").map_or("", |(_, end)| end);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_becomes_a_value_of_its_type() {
        for (value, option, expected) in [
            (json!("{{ x }}"), json!({"type": "int"}), json!(100)),
            (json!("{{ x }}"), json!({"type": "str", "choices": ["a", "b"]}), json!("a")),
            (json!("a-{{ x }}-{{ y }}b"), json!({"type": "str"}), json!("a-example-exampleb")),
            (json!(["{{ x }}"]), json!({"type": "list", "elements": "int"}), json!([100])),
            (
                json!({"a": "{{ x }}"}),
                json!({"options": {"a": {"type": "bool"}}}),
                json!({"a": true}),
            ),
            (json!(5), json!({"type": "str"}), json!(5)),
        ] {
            assert_eq!(stand_in(&value, &option), expected, "{value}");
        }
    }
}
