//! Makes the folder of a new module, alike to its neighbours. No other file is edited.

use std::fs;

use anyhow::{Result, bail, ensure};

use crate::workspace::{Workspace, write};

const FILES: [(&str, &str); 10] = [
    ("Cargo.toml", include_str!("new_module/Cargo.toml.in")),
    ("examples.yml", include_str!("new_module/examples.yml.in")),
    ("src/main.rs", include_str!("new_module/main.rs.in")),
    ("src/module.rs", include_str!("new_module/module.rs.in")),
    ("src/params.rs", include_str!("new_module/params.rs.in")),
    ("src/observe.rs", include_str!("new_module/observe.rs.in")),
    ("src/plan.rs", include_str!("new_module/plan.rs.in")),
    ("src/apply.rs", include_str!("new_module/apply.rs.in")),
    ("src/error.rs", include_str!("new_module/error.rs.in")),
    ("tests/contract.rs", include_str!("new_module/contract.rs.in")),
];

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let [name] = arguments else { bail!("give one name: cargo xtask new-module storage_content") };
    check(name)?;
    let folder = workspace.path(&format!("modules/{name}"));
    ensure!(!folder.exists(), "modules/{name} is there already");
    for (file, content) in FILES {
        write(&folder.join(file), &filled(content, name))?;
    }
    println!("made modules/{name}; write params.rs and examples.yml, then run `cargo xtask docs`");
    Ok(fs::exists(folder)?)
}

/// A module's name is that of a package, a binary and a task.
fn check(name: &str) -> Result<()> {
    let fits = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_';
    ensure!(
        name.starts_with(|c: char| c.is_ascii_lowercase()) && name.chars().all(fits),
        "a module's name is made of lowercase letters, digits and underscores, not {name:?}"
    );
    ensure!(!name.ends_with('_'), "a module's name does not end in an underscore");
    Ok(())
}

fn filled(template: &str, name: &str) -> String {
    template.replace("@NAME@", name).replace("@TYPE@", &type_name(name))
}

/// `storage_content` is `StorageContent` in Rust.
fn type_name(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_and_spelled_for_rust() {
        assert_eq!(type_name("storage_content"), "StorageContent");
        for (name, fits) in [
            ("pve_vm", true),
            ("x2", true),
            ("Pve", false),
            ("a-b", false),
            ("2x", false),
            ("a_", false),
            ("", false),
        ] {
            assert_eq!(check(name).is_ok(), fits, "{name}");
        }
    }

    #[test]
    fn nothing_is_left_to_fill_in() {
        for (file, content) in FILES {
            assert!(!filled(content, "some_thing").contains('@'), "{file}");
        }
    }
}
