//! The repository: where its parts are, found by looking.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

/// The collection whose modules are built here.
pub(crate) const COLLECTION: &str = "ferrite.pve";

/// The repository's root, and what Cargo says about it.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) metadata: Value,
}

impl Workspace {
    /// The workspace that this program was built in.
    pub(crate) fn find() -> Result<Self> {
        // set by `cargo run`; the checkout may have been moved since this was compiled
        let here = std::env::var_os("CARGO_MANIFEST_DIR")
            .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
        let root = here.ancestors().nth(2).context("crates/xtask is two folders below the root")?;
        let output = cargo(root)
            .args(["metadata", "--format-version", "1", "--no-deps"])
            .output()
            .context("cargo cannot be run")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let metadata = serde_json::from_slice(&output.stdout)?;
        Ok(Self { root: root.to_owned(), metadata })
    }

    pub(crate) fn path(&self, relative: &str) -> PathBuf {
        self.root.join(relative)
    }

    /// Where Cargo builds.
    pub(crate) fn target_dir(&self) -> PathBuf {
        self.metadata["target_directory"]
            .as_str()
            .map_or_else(|| self.path("target"), PathBuf::from)
    }

    pub(crate) fn cargo(&self) -> Command {
        cargo(&self.root)
    }

    /// The packages: name and folder, relative to the root.
    pub(crate) fn packages(&self) -> impl Iterator<Item = (&str, String, &Value)> {
        let packages = self.metadata["packages"].as_array().into_iter().flatten();
        packages.filter_map(|package| {
            let name = package["name"].as_str()?;
            let manifest = Path::new(package["manifest_path"].as_str()?);
            let folder = manifest.parent()?.strip_prefix(&self.root).ok()?;
            Some((name, folder.to_string_lossy().into_owned(), package))
        })
    }

    /// The names of the modules. Folder, package and binary carry one and the same name.
    pub(crate) fn modules(&self) -> Result<Vec<String>> {
        let mut modules = Vec::new();
        for folder in folders(&self.path("modules"))? {
            let name = file_name(&folder);
            let path = format!("modules/{name}");
            let package = self.packages().find(|(_, folder, _)| *folder == path);
            let Some((package, _, facts)) = package else {
                bail!("{path} is not a crate: a half-made module, or a half-deleted one")
            };
            ensure!(package == name, "{path} holds a package called {package}");
            let targets = facts["targets"].as_array().into_iter().flatten();
            let binaries: Vec<&str> = targets
                .filter(|target| target["kind"] == serde_json::json!(["bin"]))
                .filter_map(|target| target["name"].as_str())
                .collect();
            ensure!(
                binaries == [name.as_str()],
                "{path} has binaries {binaries:?}, not [{name:?}]"
            );
            modules.push(name);
        }
        Ok(modules)
    }

    /// The programs that are handed out beside the modules: every other package with a binary of
    /// its own name, except what only tests and chores use.
    pub(crate) fn tools(&self) -> Vec<String> {
        let has_binary = |package: &Value, name: &str| {
            let targets = package["targets"].as_array().into_iter().flatten();
            targets.into_iter().any(|target| {
                target["kind"] == serde_json::json!(["bin"]) && target["name"] == name
            })
        };
        let inner = ["modules/", "tests/", "crates/xtask"];
        let mut tools: Vec<String> = self
            .packages()
            .filter(|(_, folder, _)| !inner.iter().any(|start| folder.starts_with(start)))
            .filter(|(name, _, package)| has_binary(package, name))
            .map(|(name, _, _)| name.to_owned())
            .collect();
        tools.sort();
        tools
    }

    /// The version of everything here, from the workspace's manifest.
    pub(crate) fn version(&self) -> Result<String> {
        let xtask = self.packages().find(|(name, _, _)| *name == "xtask");
        let version = xtask.and_then(|(_, _, package)| package["version"].as_str());
        Ok(version.context("xtask has no version")?.to_owned())
    }

    /// What modules say about themselves. Binaries of the development profile serve: the words are
    /// the same, and they are built for the tests anyway.
    pub(crate) fn descriptions(&self) -> Result<Vec<Module>> {
        let names = self.modules()?;
        let mut build = self.cargo();
        build.args(["build", "--quiet"]);
        for name in &names {
            build.args(["--package", name]);
        }
        run(&mut build)?;
        let triple = self.default_target()?;
        let folder = self.target_dir().join(triple).join("debug");
        names.into_iter().map(|name| Module::ask(&name, &folder.join(&name))).collect()
    }

    /// The target that plain `cargo build` builds for.
    pub(crate) fn default_target(&self) -> Result<String> {
        let path = self.path(".cargo/config.toml");
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let line = text.lines().find_map(|line| line.strip_prefix("target = "));
        Ok(line.context("no build target in .cargo/config.toml")?.trim_matches('"').to_owned())
    }
}

/// A module as it describes itself.
pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) binary: PathBuf,
    pub(crate) description: Value,
}

impl Module {
    /// Asks a built binary.
    pub(crate) fn ask(name: &str, binary: &Path) -> Result<Self> {
        let output = Command::new(binary)
            .arg("--describe")
            .output()
            .with_context(|| format!("{} cannot be run", binary.display()))?;
        let description: Value = serde_json::from_slice(&output.stdout)
            .with_context(|| format!("modules/{name} does not describe itself"))?;
        let said = description["name"].as_str().unwrap_or_default();
        ensure!(said == name, "modules/{name} calls itself {said:?} in META");
        Ok(Self { name: name.to_owned(), binary: binary.to_owned(), description })
    }
}

/// The folders inside a folder, sorted.
pub(crate) fn folders(parent: &Path) -> Result<Vec<PathBuf>> {
    Ok(entries(parent)?.into_iter().filter(|path| path.is_dir()).collect())
}

/// What is in a folder, sorted, without hidden entries.
pub(crate) fn entries(parent: &Path) -> Result<Vec<PathBuf>> {
    let listed = fs::read_dir(parent).with_context(|| parent.display().to_string())?;
    let mut paths = Vec::new();
    for entry in listed {
        let path = entry?.path();
        if !file_name(&path).starts_with('.') {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// Runs a command that is to succeed.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("{shown} cannot be run"))?;
    ensure!(status.success(), "{shown} ended with {status}");
    Ok(())
}

/// Replaces a file in one step; says whether it was another before.
pub(crate) fn write(path: &Path, content: &str) -> Result<bool> {
    if fs::read_to_string(path).is_ok_and(|old| old == content) {
        return Ok(false);
    }
    let new = path.with_file_name(format!(".{}.new", file_name(path)));
    let parent = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(parent).with_context(|| parent.display().to_string())?;
    fs::write(&new, content).with_context(|| new.display().to_string())?;
    fs::rename(&new, path).with_context(|| path.display().to_string())?;
    Ok(true)
}

/// The program that is on the path under this name.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn cargo(root: &Path) -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(root);
    command
}
