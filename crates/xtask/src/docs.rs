//! Writes what is generated from the modules' own descriptions and from the roles' argument specs:
//! sidecars for `ansible-doc`, action groups, and tables between markers in the documentation.

mod privileges;
mod roles;
mod sidecar;
mod tables;
mod yaml;

use std::collections::BTreeMap;
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::install::modules_folder;
use crate::workspace::{Module, Workspace, entries, write};

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let check = match arguments {
        [] => false,
        [flag] if flag == "--check" => true,
        _ => bail!("only --check is known"),
    };
    let mut right = true;
    for (path, content) in pages(workspace)? {
        let shown = path.strip_prefix(&workspace.root).unwrap_or(&path).display().to_string();
        let Some(content) = content else {
            right = false;
            println!("{shown} belongs to no module: remove it");
            continue;
        };
        if check {
            if std::fs::read_to_string(&path).ok().as_ref() != Some(&content) {
                right = false;
                println!("{shown} is not what `cargo xtask docs` would write");
            }
        } else if write(&path, &content)? {
            println!("{shown}");
        }
    }
    Ok(right || !check)
}

/// Every generated file with its content; without content, one that should not be.
fn pages(workspace: &Workspace) -> Result<BTreeMap<PathBuf, Option<String>>> {
    let modules = workspace.descriptions()?;
    let folder = modules_folder(workspace);
    let mut pages = BTreeMap::new();
    if folder.is_dir() {
        for path in entries(&folder)? {
            if path.extension().is_some_and(|extension| extension == "yml") {
                pages.insert(path, None);
            }
        }
    }
    for module in &modules {
        let page = sidecar::sidecar(module).with_context(|| module.name.clone())?;
        pages.insert(folder.join(format!("{}.yml", module.name)), Some(page));
    }
    let collection = folder.ancestors().nth(2).context("modules are inside of a collection")?;
    pages.insert(collection.join("meta/runtime.yml"), Some(runtime(&modules)?));
    let galaxy = collection.join("galaxy.yml");
    let text = std::fs::read_to_string(&galaxy).with_context(|| galaxy.display().to_string())?;
    pages.insert(galaxy, Some(with_version(&text, &workspace.version()?)));
    let readme = workspace.path("README.md");
    let text = std::fs::read_to_string(&readme).unwrap_or_default();
    if let Some(text) = tables::between(&text, "modules", &tables::modules(&modules)) {
        pages.insert(readme, Some(text));
    }
    for (path, text) in privileges::pages(workspace, &pages)? {
        pages.insert(path, Some(text));
    }
    for (path, text) in roles::pages(workspace)? {
        pages.insert(path, Some(text));
    }
    Ok(pages)
}

/// The manifest of the collection with the version that stands in Cargo.toml.
fn with_version(galaxy: &str, version: &str) -> String {
    let lines = galaxy.lines().map(|line| match line.starts_with("version:") {
        true => format!("version: {version}\n"),
        false => format!("{line}\n"),
    });
    lines.collect()
}

/// The action groups, for `module_defaults: group/ferrite.pve.NAME`.
fn runtime(modules: &[Module]) -> Result<String> {
    let mut groups: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for module in modules {
        for group in module.description["groups"].as_array().into_iter().flatten() {
            groups.entry(group.as_str().unwrap_or_default()).or_default().push(&module.name);
        }
    }
    let page: Value = json!({"requires_ansible": ">=2.16.0", "action_groups": groups});
    Ok(format!("# Written by `cargo xtask docs`.\n---\n{}", yaml::block(&page)?))
}
