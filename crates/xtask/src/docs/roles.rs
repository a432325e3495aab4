//! The table of a role's variables, from its argument spec.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::Value;

use super::tables::{between, markers, prose};
use crate::workspace::{Workspace, file_name, folders};

/// The README of each role that has an argument spec.
pub(super) fn pages(workspace: &Workspace) -> Result<Vec<(PathBuf, String)>> {
    let roles = workspace.path("roles");
    if !roles.is_dir() {
        return Ok(Vec::new());
    }
    let mut pages = Vec::new();
    for role in folders(&roles)? {
        let spec = role.join("meta/argument_specs.yml");
        let Ok(text) = fs::read_to_string(&spec) else { continue };
        let spec: Value =
            serde_yaml_ng::from_str(&text).with_context(|| spec.display().to_string())?;
        let readme = role.join("README.md");
        let page = fs::read_to_string(&readme).unwrap_or_else(|_| new(&file_name(&role), &spec));
        let page = between(&page, "variables", &table(&spec)).with_context(|| {
            let (begin, end) = markers("variables");
            format!("{} does not hold the lines {begin} and {end}", readme.display())
        })?;
        pages.push((readme, page));
    }
    Ok(pages)
}

/// A page for a role that has none yet.
fn new(role: &str, spec: &Value) -> String {
    let (begin, end) = markers("variables");
    let short = prose(&spec["argument_specs"]["main"]["short_description"]);
    let short = short.trim_end_matches('.');
    format!("# Role {role}\n\n{short}.\n\n## Variables\n\n{begin}\n{end}\n")
}

fn table(spec: &Value) -> String {
    let mut table =
        "| variable | type | default | what it is |\n| --- | --- | --- | --- |\n".to_owned();
    let entries = spec["argument_specs"].as_object().into_iter().flatten();
    let mut seen = Vec::new();
    for (entry, spec) in entries {
        for (name, option) in spec["options"].as_object().into_iter().flatten() {
            // an entry point beside main repeats what it shares with it
            if entry != "main" && seen.contains(&name.as_str()) {
                continue;
            }
            seen.push(name);
            rows(name, option, &mut table);
        }
    }
    table
}

fn rows(name: &str, option: &Value, table: &mut String) {
    let kind = match (option["type"].as_str(), option["elements"].as_str()) {
        (Some("list"), Some(elements)) => format!("list of {elements}"),
        (kind, _) => kind.unwrap_or("str").to_owned(),
    };
    let default = match &option["default"] {
        Value::Null if option["required"] == true => "required".to_owned(),
        Value::Null => String::new(),
        Value::String(text) if text.is_empty() => "empty".to_owned(),
        Value::String(text) => format!("`{text}`"),
        other => format!("`{other}`"),
    };
    let mut about = prose(&option["description"]);
    if let Some(choices) = option["choices"].as_array() {
        let shown =
            |choice: &Value| choice.as_str().map_or_else(|| choice.to_string(), str::to_owned);
        let choices: Vec<String> =
            choices.iter().map(|choice| format!("`{}`", shown(choice))).collect();
        about.push_str(&format!(" One of {}.", choices.join(", ")));
    }
    table.push_str(&format!("| `{name}` | {kind} | {default} | {about} |\n"));
    for (inner, option) in option["options"].as_object().into_iter().flatten() {
        rows(&format!("{name}.{inner}"), option, table);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_variable_is_a_row() {
        let spec = "
argument_specs:
  main:
    short_description: Keep it so.
    options:
      base_names: {type: list, elements: str, default: [], description: [The names., 'All of them.']}
      base_state: {type: str, required: true, choices: [a, b], description: What.}
      base_net:
        type: dict
        description: Net.
        options: {bridge: {type: str, description: A bridge.}}
  other:
    options:
      base_state: {type: str}
      base_more: {type: bool, default: false, description: More.}
";
        let spec: Value = serde_yaml_ng::from_str(spec).unwrap();
        let expected = "\
| variable | type | default | what it is |
| --- | --- | --- | --- |
| `base_names` | list of str | `[]` | The names. All of them. |
| `base_state` | str | required | What. One of `a`, `b`. |
| `base_net` | dict |  | Net. |
| `base_net.bridge` | str |  | A bridge. |
| `base_more` | bool | `false` | More. |
";
        assert_eq!(table(&spec), expected);
        assert!(new("base", &spec).starts_with("# Role base\n\nKeep it so.\n"));
    }
}
