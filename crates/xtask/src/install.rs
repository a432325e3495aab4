//! Builds what is shipped and puts it where Ansible finds it. What was built is looked at before:
//! whether it is really static and free of the C library's user and host look-ups,
//! which crash a static program where an NSS module is installed.

mod elf;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::UNIX_EPOCH;

use anyhow::{Context, Result, bail, ensure};
use serde_json::{Map, Value, json};

use crate::workspace::{COLLECTION, Module, Workspace, file_name, program, run as run_command};

const MUSL: &str = "x86_64-unknown-linux-musl";
/// Tells the linker to leave the tables for unwinding out; see docs/decisions/0006.
const NO_TABLES: &str = "crates/xtask/src/install/no_tables.ld";
const INVENTORY: &str = "pve_inventory";
/// Look-ups through NSS: a guest module that links one of these crashes on a managed node.
const NSS: [&str; 20] = [
    "getaddrinfo",
    "gethostbyaddr",
    "gethostbyname",
    "gethostbyname2",
    "gethostbyname_r",
    "getgrent",
    "getgrgid",
    "getgrgid_r",
    "getgrnam",
    "getgrnam_r",
    "getgrouplist",
    "getpwent",
    "getpwnam",
    "getpwnam_r",
    "getpwuid",
    "getpwuid_r",
    "getservbyname",
    "getservbyname_r",
    "getspnam",
    "initgroups",
];

/// One binary on its way.
struct Shipped {
    name: String,
    built: PathBuf,
    /// The row of the size budget.
    budget: &'static str,
    places: Vec<PathBuf>,
}

/// Installs; with `--sizes`, what is larger than its budget is an error too. Compilers differ by
/// some per cent, and who only wants to use a binary is better off with a larger one than without.
pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let sizes = match words.as_slice() {
        [] => false,
        ["--sizes"] => true,
        _ => bail!("only --sizes is known"),
    };
    let modules = workspace.modules()?;
    let tools = tools(workspace);
    let target = target(workspace)?;
    build(workspace, &shipped_packages(workspace)?, &target)?;
    let folder = workspace.target_dir().join(&target).join("release");
    let mut shipped = Vec::new();
    for name in &modules {
        let built = folder.join(name);
        let module = Module::ask(name, &built)?;
        let on_control_node = module.description["place"] == "control_node";
        shipped.push(Shipped {
            name: name.clone(),
            built,
            budget: if on_control_node { "api" } else { "guest" },
            places: vec![modules_folder(workspace).join(name)],
        });
    }
    for (name, place) in &tools {
        let mut places = vec![place.clone()];
        if name == INVENTORY {
            places.push(workspace.path("inventory/site/10-pve"));
        }
        let built = folder.join(name);
        shipped.push(Shipped { name: name.clone(), built, budget: "api", places });
    }
    remove_strangers(workspace, &modules)?;
    let mut stamps = Stamps::read(workspace.target_dir().join("installed.json"));
    let mut wrong = Vec::new();
    for binary in &shipped {
        if stamps.are_current(binary) {
            continue;
        }
        match install(binary) {
            Ok(size) => {
                println!("{} {size} bytes", binary.name);
                stamps.note(binary)?;
            }
            Err(error) => wrong.push(format!("{}: {error:#}", binary.name)),
        }
    }
    stamps.write()?;
    if sizes {
        for binary in &shipped {
            if let Err(error) = check_size(workspace, binary, &target) {
                wrong.push(format!("{}: {error:#}", binary.name));
            }
        }
    }
    if !wrong.is_empty() {
        bail!("{}", wrong.join("\n"));
    }
    let names: Vec<&str> = tools.iter().map(|(name, _)| name.as_str()).collect();
    println!("installed {} modules, {} ({target})", modules.len(), names.join(", "));
    Ok(true)
}

/// Where the collection's modules are.
pub(crate) fn modules_folder(workspace: &Workspace) -> PathBuf {
    let folder = COLLECTION.replace('.', "/");
    workspace.path(&format!("collections/ansible_collections/{folder}/plugins/modules"))
}

/// What is run on the control node by hand or by Ansible: name, and where it is put.
pub(crate) fn tools(workspace: &Workspace) -> Vec<(String, PathBuf)> {
    let names = workspace.tools().into_iter();
    names.map(|name| (name.clone(), workspace.path(&name))).collect()
}

/// The packages whose binaries are handed out.
pub(crate) fn shipped_packages(workspace: &Workspace) -> Result<Vec<String>> {
    let mut packages = workspace.modules()?;
    packages.extend(workspace.tools());
    Ok(packages)
}

/// musl if it can be built for, since its binaries are a third of the size; `FERRITE_TARGET` decides
/// otherwise.
pub(crate) fn target(workspace: &Workspace) -> Result<String> {
    if let Ok(target) = std::env::var("FERRITE_TARGET") {
        return Ok(target);
    }
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let output = Command::new(rustc)
        .args(["--print", "target-libdir", "--target", MUSL])
        .output()
        .context("rustc cannot be run")?;
    let libdir = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    let has_std = fs::read_dir(&libdir).is_ok_and(|entries| {
        entries.flatten().any(|entry| file_name(&entry.path()).starts_with("libstd-"))
    });
    if has_std { Ok(MUSL.to_owned()) } else { workspace.default_target() }
}

fn build(workspace: &Workspace, packages: &[String], target: &str) -> Result<()> {
    let mut cargo = workspace.cargo();
    cargo.args(["build", "--release", "--target", target]);
    for name in packages {
        cargo.args(["--package", name]);
    }
    // no relocations at start: 4 % smaller, and what musl-gcc needs to make it static at all
    let mut flags = vec!["-C".to_owned(), "relocation-model=static".to_owned()];
    // panics name files: the same names wherever it is built, and none of the builder's own
    for (from, to) in [(cargo_home()?, "/cargo"), (workspace.root.clone(), "/ferrite")] {
        flags.push(format!("--remap-path-prefix={}={to}", from.display()));
    }
    if target != MUSL {
        let script = workspace.path(NO_TABLES);
        flags.push("-C".to_owned());
        flags.push(format!("link-arg=-Wl,--no-eh-frame-hdr,--script={}", script.display()));
    }
    cargo.args(["--config", &format!("target.{target}.rustflags={}", json!(flags))]);
    if target == MUSL && std::env::var_os("CC_x86_64_unknown_linux_musl").is_none() {
        // the little C in ring builds with any compiler, but not with glibc's fortified functions
        let compiler = if program("musl-gcc").is_some() { "musl-gcc" } else { "cc" };
        cargo.env("CC_x86_64_unknown_linux_musl", compiler);
        cargo.env("CFLAGS_x86_64_unknown_linux_musl", "-U_FORTIFY_SOURCE");
    }
    run_command(&mut cargo)
}

/// Where Cargo keeps the sources of other crates.
fn cargo_home() -> Result<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    home.context("neither CARGO_HOME nor HOME is set")
}

fn install(binary: &Shipped) -> Result<u64> {
    let image = fs::read(&binary.built).with_context(|| binary.built.display().to_string())?;
    let facts = elf::read(&image)?;
    ensure!(facts.interpreter.is_none(), "it is not static: it wants {:?}", facts.interpreter);
    ensure!(facts.needed == 0, "it is not static: it wants {} shared libraries", facts.needed);
    ensure!(!facts.symbols.is_empty(), "it has no symbol table to look at");
    if binary.budget == "guest" {
        let found: Vec<&str> = NSS
            .into_iter()
            .filter(|name| facts.symbols.iter().any(|symbol| symbol == name))
            .collect();
        ensure!(
            found.is_empty(),
            "it links {}, which crashes a static program where an NSS module is installed",
            found.join(", ")
        );
    }
    let stripped = binary.built.with_extension("stripped");
    // strip is there wherever Rust can link: both are part of binutils
    run_command(
        Command::new("strip").args(["--strip-all", "-o"]).arg(&stripped).arg(&binary.built),
    )?;
    let size = fs::metadata(&stripped)?.len();
    for place in &binary.places {
        let new = place.with_file_name(format!(".{}.new", file_name(place)));
        let folder = place.parent().context("a binary is in a folder")?;
        fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
        fs::copy(&stripped, &new).with_context(|| new.display().to_string())?;
        fs::set_permissions(&new, fs::Permissions::from_mode(0o755))?;
        fs::rename(&new, place).with_context(|| place.display().to_string())?;
    }
    Ok(size)
}

/// Holds what is installed against the budget.
fn check_size(workspace: &Workspace, binary: &Shipped, target: &str) -> Result<()> {
    let limit = budget(workspace, binary.budget, target)?;
    for place in &binary.places {
        let size = fs::metadata(place).with_context(|| place.display().to_string())?.len();
        ensure!(
            size <= limit,
            "it has {size} bytes, {} more than its budget of {limit}",
            size - limit
        );
    }
    Ok(())
}

/// The size budget, which stands in the workspace's manifest.
fn budget(workspace: &Workspace, row: &str, target: &str) -> Result<u64> {
    let column = if target.ends_with("musl") { "musl" } else { "gnu" };
    workspace.metadata["metadata"]["ferrite"]["budget"][row][column]
        .as_u64()
        .with_context(|| format!("no size budget for {row} on {column} in Cargo.toml"))
}

/// Takes away binaries of modules that are no more.
fn remove_strangers(workspace: &Workspace, modules: &[String]) -> Result<()> {
    let Ok(entries) = fs::read_dir(modules_folder(workspace)) else { return Ok(()) };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = file_name(&path);
        if path.is_file() && path.extension().is_none() && !modules.contains(&name) {
            fs::remove_file(&path).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}

/// What was installed from which build, so that nothing is done twice.
struct Stamps {
    path: PathBuf,
    entries: Map<String, Value>,
}

impl Stamps {
    fn read(path: PathBuf) -> Self {
        let text = fs::read(&path).unwrap_or_default();
        let entries = serde_json::from_slice(&text).unwrap_or_default();
        Self { path, entries }
    }

    fn are_current(&self, binary: &Shipped) -> bool {
        // what is not there has no stamp, and nothing is not equal to nothing
        stamp(binary).is_some_and(|now| self.entries.get(&binary.name) == Some(&now))
    }

    fn note(&mut self, binary: &Shipped) -> Result<()> {
        let stamp = stamp(binary).context("it was just installed")?;
        self.entries.insert(binary.name.clone(), stamp);
        Ok(())
    }

    fn write(&self) -> Result<()> {
        let text = serde_json::to_string(&self.entries)?;
        fs::write(&self.path, text).with_context(|| self.path.display().to_string())
    }
}

/// Names the build and each installed copy; nothing if one of them is not there.
fn stamp(binary: &Shipped) -> Option<Value> {
    let places: Option<Vec<Value>> = binary.places.iter().map(|path| facts(path)).collect();
    Some(json!([facts(&binary.built)?, places?]))
}

fn facts(path: &Path) -> Option<Value> {
    let meta = fs::metadata(path).ok()?;
    let modified = meta.modified().ok()?.duration_since(UNIX_EPOCH).ok()?.as_nanos();
    Some(json!([path.to_str()?, meta.len(), modified.to_string()]))
}
