//! The real Ansible, for what it makes of the output: the one at hand, the oldest that is supported
//! and the newest. The latter two are installed on demand, once, into virtual environments under
//! `target`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use crate::fleet::{Printed, printed};

/// The oldest that is supported. It runs on Python 3.10 to 3.12.
const OLDEST: (&str, u8, u8) = ("2.16.19", 10, 12);
/// The newest; it is left out where there is no Python that is new enough for it.
const NEWEST: (&str, u8, u8) = ("2.21.5", 12, 14);
/// What both bring along.
const ALONG: [&str; 7] = [
    "cffi==2.1.1",
    "cryptography==50.0.2",
    "Jinja2==3.1.6",
    "MarkupSafe==3.0.4",
    "packaging==26.4",
    "pycparser==3.11",
    "PyYAML==6.0.4",
];

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
        let oldest = installed(OLDEST);
        let oldest = oldest.expect("a Python from 3.10 to 3.12 for the oldest ansible-core");
        [oldest, at_hand()].into_iter().chain(installed(NEWEST)).collect()
    })
}

/// A core in its virtual environment; none if there is no Python for it.
fn installed((version, least, most): (&str, u8, u8)) -> Option<Core> {
    let home = repository().join(format!("target/ansible-core-{version}"));
    let bin = home.join("bin");
    let complete = home.join("complete");
    if complete.exists() && works(&bin.join("python3")) {
        return Some(Core { bin });
    }
    let python = (least..=most).rev().find_map(python)?;
    std::fs::create_dir_all(home.parent().unwrap()).unwrap();
    run(Command::new(python).args(["-m", "venv", "--clear"]).arg(&home));
    run(Command::new(bin.join("pip"))
        .args(["install", "--quiet", "--disable-pip-version-check"])
        .arg(format!("ansible-core=={version}"))
        .args(ALONG));
    std::fs::write(complete, "").unwrap();
    Some(Core { bin })
}

/// A Python of this version that can make virtual environments.
fn python(minor: u8) -> Option<PathBuf> {
    let name = format!("python3.{minor}");
    let mut places: Vec<PathBuf> =
        std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default()).collect();
    // pyenv's own commands refuse those that are not chosen
    let versions = std::env::home_dir().map(|home| home.join(".pyenv/versions"));
    let versions = versions.and_then(|folder| std::fs::read_dir(folder).ok());
    places.extend(versions.into_iter().flatten().flatten().map(|entry| entry.path().join("bin")));
    places.into_iter().map(|place| place.join(&name)).find(|python| works(python))
}

fn works(python: &Path) -> bool {
    let tried = Command::new(python).args(["-c", "import ensurepip, venv"]).output();
    tried.is_ok_and(|output| output.status.success())
}

fn run(command: &mut Command) {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{command:?}: {}", said.lines().last().unwrap_or_default());
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
