//! The tarball. `ansible-galaxy` makes it, since it knows the manifest; its dates are those of the
//! build, so it is packed again with fixed ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::workspace::{COLLECTION, Workspace, entries, file_name, run};

/// The date of every file in it: 2020-01-01, in seconds since 1970.
const DATE: &str = "@1577836800";

pub(super) fn build(workspace: &Workspace, folder: &Path, version: &str) -> Result<PathBuf> {
    let work = workspace.target_dir().join("collection");
    let name = format!("{}-{version}.tar.gz", COLLECTION.replace('.', "-"));
    let mut galaxy = Command::new("ansible-galaxy");
    galaxy.args(["collection", "build", "--force", "--output-path"]).arg(&work).arg(folder);
    // beside the collection is no configuration that could speak of others
    run(galaxy.current_dir(&work))?;
    let unpacked = work.join("unpacked");
    fs::create_dir(&unpacked).with_context(|| unpacked.display().to_string())?;
    run(Command::new("tar").arg("-xzf").arg(work.join(&name)).arg("-C").arg(&unpacked))?;
    let plain = work.join("plain.tar");
    let mut tar = Command::new("tar");
    tar.args(["--create", "--sort=name", "--format=gnu", "--owner=0", "--group=0"])
        .args(["--numeric-owner", &format!("--mtime={DATE}")])
        .arg(format!("--file={}", plain.display()))
        .arg(format!("--directory={}", unpacked.display()))
        .args(entries(&unpacked)?.iter().map(|path| file_name(path)));
    run(&mut tar)?;
    run(Command::new("gzip").args(["--no-name", "--best", "--force"]).arg(&plain))?;
    let folder = workspace.target_dir().join("dist");
    fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    let path = folder.join(&name);
    fs::rename(work.join("plain.tar.gz"), &path).with_context(|| path.display().to_string())?;
    fs::remove_dir_all(&unpacked)?;
    Ok(path)
}
