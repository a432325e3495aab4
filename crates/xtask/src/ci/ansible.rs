//! The steps that Ansible's own tools do.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Result, ensure};

use super::gate::Tally;
use crate::workspace::{COLLECTION, Workspace, entries, file_name, program};

/// Each module's page can be shown, with its options.
pub(super) fn doc(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    found(workspace)?;
    for module in workspace.modules()? {
        let full = format!("{COLLECTION}.{module}");
        let name = format!("ansible-doc {full}");
        let ended = tally.run(&name, ansible(workspace, "ansible-doc").arg(&full), &|_| ())?;
        let complete =
            ["OPTIONS", "EXAMPLES", "RETURN"].iter().all(|part| ended.output.contains(part));
        if ended.success() && complete && !ended.output.contains("WARNING") {
            tally.pass(&name);
        } else {
            tally.fail(&name, &ended.tail());
        }
    }
    Ok(())
}

pub(super) fn lint(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    found(workspace)?;
    if program("yamllint").is_some() {
        tally.gate("yamllint", ansible(workspace, "yamllint").args(["--strict", "."]))?;
    } else {
        tally.skip("yamllint", "it is not installed");
    }
    tally.gate("ansible-lint", ansible(workspace, "ansible-lint").arg("--offline"))?;
    Ok(())
}

/// Each playbook, from the root and without an inventory: nothing is asked of a cluster here.
pub(super) fn syntax(workspace: &Workspace, tally: &mut Tally) -> Result<()> {
    for playbook in entries(&workspace.path("playbooks"))? {
        let name = file_name(&playbook);
        if !has_plays(&playbook) {
            continue;
        }
        let mut command = ansible(workspace, "ansible-playbook");
        command.args(["--syntax-check", "--inventory", "localhost,"]);
        command.arg(format!("playbooks/{name}"));
        tally.gate(&format!("syntax of {name}"), &mut command)?;
    }
    Ok(())
}

/// Whether it is a list, as playbooks are and files of variables are not.
fn has_plays(path: &Path) -> bool {
    let is_yaml = path.extension().is_some_and(|extension| extension == "yml");
    let text = std::fs::read_to_string(path).unwrap_or_default();
    is_yaml && text.lines().any(|line| line.starts_with("- "))
}

/// Looks for the collection where every tool is told to look, so that a tool's own words about a
/// module that it cannot resolve need no guessing.
fn found(workspace: &Workspace) -> Result<()> {
    let folder =
        collections(workspace).join("ansible_collections").join(COLLECTION.replace('.', "/"));
    ensure!(
        folder.join("galaxy.yml").is_file(),
        "collection {COLLECTION} is missing in {}; every tool looks for it there",
        folder.display()
    );
    Ok(())
}

/// The one place of collections, in `ansible.cfg` for people and in the environment for tools.
fn collections(workspace: &Workspace) -> PathBuf {
    workspace.path("collections")
}

/// One of Ansible's programs, run in the root with our collection first.
fn ansible(workspace: &Workspace, name: &str) -> Command {
    let mut command = Command::new(name);
    command.current_dir(&workspace.root);
    command.env("ANSIBLE_COLLECTIONS_PATH", collections(workspace));
    command.env("ANSIBLE_NOCOLOR", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn g63_every_tool_looks_for_the_collection_in_one_place() {
        let workspace = Workspace::find().unwrap();
        found(&workspace).unwrap();
        let settings = std::fs::read_to_string(workspace.path("ansible.cfg")).unwrap();
        assert!(settings.lines().any(|line| line == "collections_path = collections"));
        let lint = ansible(&workspace, "ansible-lint");
        let told = lint.get_envs().find(|(name, _)| *name == "ANSIBLE_COLLECTIONS_PATH");
        assert_eq!(told.unwrap().1.unwrap(), collections(&workspace).as_os_str());
    }
}
