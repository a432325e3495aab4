//! Makes what is handed out: the collection as a tarball, with binaries, roles, playbooks, the
//! licences of all that is linked in, and a bill of materials. Two builds of one commit with one
//! toolchain give the same bytes.

mod crates;
mod licences;
mod sanity;
mod sbom;
mod stage;
mod tarball;

use anyhow::{Result, ensure};

use crate::install;
use crate::workspace::Workspace;

use self::crates::Crates;

pub(crate) fn run(workspace: &Workspace, arguments: &[String]) -> Result<bool> {
    ensure!(arguments.is_empty(), "it takes no arguments");
    ensure!(install::run(workspace, &[])?, "the binaries could not be built");
    let version = workspace.version()?;
    let linked = Crates::linked_in(workspace)?;
    let folder = stage::stage(workspace, &version)?;
    stage::write(&folder.join("LICENSES/THIRD-PARTY.txt"), &licences::text(&linked)?)?;
    stage::write(&folder.join("sbom.cdx.json"), &sbom::document(&linked, &version)?)?;
    sanity::write_ignores(workspace, &folder)?;
    let path = tarball::build(workspace, &folder, &version)?;
    println!("{}", path.display());
    Ok(true)
}
