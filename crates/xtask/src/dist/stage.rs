//! The collection as it will be installed, in a folder below the build directory.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};

use crate::install;
use crate::workspace::{COLLECTION, Workspace};

/// What is copied: a file or a folder of the repository, and its place in the collection.
const FOLDERS: [(&str, &str); 6] = [
    ("ansible.cfg", "examples/ansible.cfg"),
    ("roles", "roles"),
    ("playbooks", "playbooks"),
    ("docs", "docs"),
    ("inventory/guests", "examples/inventory/guests"),
    ("inventory/site", "examples/inventory/site"),
];
/// Belongs to the repository and means nothing in a collection.
const NOT_SHIPPED: [&str; 1] = ["playbooks/ansible.cfg"];

/// Copies what is under version control, and the built binaries. A link becomes the file that it
/// leads to, since `ansible-galaxy` leaves out links that lead out of the collection.
pub(super) fn stage(workspace: &Workspace, version: &str) -> Result<PathBuf> {
    let source = format!("collections/ansible_collections/{}", COLLECTION.replace('.', "/"));
    let all = workspace.target_dir().join("collection");
    let folder = all.join("ansible_collections").join(COLLECTION.replace('.', "/"));
    if all.exists() {
        fs::remove_dir_all(&all).with_context(|| all.display().to_string())?;
    }
    for (from, to) in FOLDERS.into_iter().chain([(source.as_str(), "")]) {
        for file in tracked(workspace, from)? {
            if NOT_SHIPPED.contains(&file.as_str()) {
                continue;
            }
            let inside = file.strip_prefix(from).unwrap_or(&file).trim_start_matches('/');
            let parts = [to, inside].into_iter().filter(|part| !part.is_empty());
            copy(&workspace.path(&file), &folder.join(parts.collect::<PathBuf>()))?;
        }
    }
    for name in workspace.modules()? {
        let place = Path::new("plugins/modules").join(&name);
        copy(&install::modules_folder(workspace).join(&name), &folder.join(place))?;
    }
    for (name, path) in install::tools(workspace) {
        copy(&path, &folder.join("tools").join(name))?;
    }
    let galaxy = folder.join("galaxy.yml");
    let text = fs::read_to_string(&galaxy)?;
    ensure!(
        text.lines().any(|line| line == format!("version: {version}")),
        "galaxy.yml does not have the version {version}: run `cargo xtask docs`"
    );
    Ok(folder)
}

/// The files under version control below a folder, sorted.
fn tracked(workspace: &Workspace, folder: &str) -> Result<Vec<String>> {
    let output = std::process::Command::new("git")
        .args(["-c", "safe.directory=*", "ls-files", "-z", "--", folder])
        .current_dir(&workspace.root)
        .output()
        .context("git cannot be run")?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let names = String::from_utf8(output.stdout)?;
    let mut names: Vec<String> =
        names.split('\0').filter(|name| !name.is_empty()).map(str::to_owned).collect();
    names.sort();
    Ok(names)
}

/// Copies one file; what may be run stays so, everything else about its mode is the same anywhere.
fn copy(from: &Path, to: &Path) -> Result<()> {
    let mode = fs::metadata(from).with_context(|| from.display().to_string())?.permissions().mode();
    let folder = to.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::copy(from, to).with_context(|| to.display().to_string())?;
    let mode = if mode & 0o111 == 0 { 0o644 } else { 0o755 };
    fs::set_permissions(to, fs::Permissions::from_mode(mode))?;
    Ok(())
}

/// Writes a file that is made here.
pub(super) fn write(path: &Path, content: &str) -> Result<()> {
    let folder = path.parent().context("a file is in a folder")?;
    fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    fs::write(path, content).with_context(|| path.display().to_string())?;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644))?;
    Ok(())
}
