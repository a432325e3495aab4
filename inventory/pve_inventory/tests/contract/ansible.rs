//! The real Ansible, for what it makes of the output: the one at hand, the oldest that is supported
//! and the newest. The latter two are installed on demand, once, into virtual environments under
//! `target`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::fleet::{Printed, printed};

/// An installed ansible-core.
#[derive(Debug, Clone)]
pub(crate) struct Core {
    /// The folder of its programs.
    bin: PathBuf,
}

/// The folder of Ansible's programs: `FERRITE_ANSIBLE_BIN`, else the repository's `.venv/bin`,
/// else the one in PATH. A test without Ansible fails; it never passes by being left out.
fn at_hand() -> Core {
    if let Some(named) = std::env::var_os("FERRITE_ANSIBLE_BIN") {
        return Core { bin: named.into() };
    }
    let mut folders = vec![repository().join(".venv/bin")];
    folders.extend(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()));
    let bin = folders.into_iter().find(|folder| folder.join("ansible-inventory").exists()).expect(
        "no ansible-inventory in .venv/bin or PATH; name its folder by FERRITE_ANSIBLE_BIN",
    );
    Core { bin }
}

fn repository() -> PathBuf {
    std::fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// All of them.
pub(crate) fn cores() -> &'static [Core] {
    static CORES: OnceLock<Vec<Core>> = OnceLock::new();
    CORES.get_or_init(|| {
        let mut pinned: Vec<String> = std::fs::read_dir(repository().join("tests/cores"))
            .unwrap()
            .map(|entry| entry.unwrap().path().file_stem().unwrap().to_str().unwrap().to_owned())
            .collect();
        pinned.sort();
        let oldest = installed(pinned.first().unwrap()).expect("a Python for the oldest core");
        [oldest, at_hand()].into_iter().chain(installed(pinned.last().unwrap())).collect()
    })
}

/// A core of `tests/cores`; none if there is no Python for it.
fn installed(version: &str) -> Option<Core> {
    let output = Command::new(repository().join("tests/core")).arg(version).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => Some(Core { bin: String::from_utf8(output.stdout).unwrap().trim().into() }),
        Some(77) => None,
        _ => panic!("tests/core {version}: {said}"),
    }
}

impl Core {
    /// One of its programs on the inventory; an inventory that fails is a failure.
    pub(crate) fn program(&self, folder: &Path, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(self.bin.join(program));
        command
            .args(["-i", env!("CARGO_BIN_EXE_pve_inventory")])
            .args(arguments)
            .env_clear()
            .env("PATH", format!("{}:/usr/bin:/bin", self.bin.display()))
            .env("HOME", folder)
            .env("LC_ALL", "C.UTF-8")
            .env("ANSIBLE_INVENTORY_ENABLED", "script,ansible.builtin.constructed")
            .env("ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED", "1")
            .current_dir(folder);
        command
    }

    /// What it prints about an inventory. It must have no word of warning.
    pub(crate) fn quiet(&self, command: &mut Command) -> Printed {
        let printed = printed(command);
        assert_eq!(
            (printed.status, printed.stderr.as_str()),
            (Some(0), ""),
            "{self:?} {printed:?}"
        );
        printed
    }
}
