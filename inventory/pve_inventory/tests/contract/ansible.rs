//! The real Ansible, for what it makes of the output.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::fleet::Running;

/// The folder of Ansible's programs: `FERRITE_ANSIBLE_BIN`, else the repository's `.venv/bin`,
/// else the one in PATH. A test without Ansible fails; it never passes by being left out.
fn programs() -> PathBuf {
    if let Some(named) = std::env::var_os("FERRITE_ANSIBLE_BIN") {
        return named.into();
    }
    let repository = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../.venv/bin"));
    let mut folders = vec![repository];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    folders
        .into_iter()
        .find(|folder| folder.join("ansible-inventory").exists())
        .expect("no ansible-inventory in .venv/bin or PATH; name its folder by FERRITE_ANSIBLE_BIN")
}

/// One of Ansible's programs on the inventory; an inventory that fails is a failure.
pub(crate) fn program(folder: &Path, program: &str, arguments: &[&str]) -> Command {
    let programs = programs();
    let mut command = Command::new(programs.join(program));
    command
        .args(["-i", env!("CARGO_BIN_EXE_pve_inventory")])
        .args(arguments)
        .env_clear()
        .env("PATH", format!("{}:/usr/bin:/bin", programs.display()))
        .env("HOME", folder)
        .env("LC_ALL", "C.UTF-8")
        .env("ANSIBLE_INVENTORY_ENABLED", "script")
        .env("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "1")
        .current_dir(folder);
    command
}

/// The same on the inventory of this cluster.
pub(crate) fn ansible(fleet: &Running, name: &str, arguments: &[&str]) -> Command {
    let mut command = program(fleet.folder(), name, arguments);
    command.envs(fleet.environment());
    command
}
