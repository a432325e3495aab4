//! Builds an image from its spec.
//!
//! All is made in a folder beside the output, in a name space for mounts of a thread's own; the
//! output appears when it is complete. Whatever ends a build, the kernel takes away its programs,
//! mounts and loop devices, and the next build of the same output its files.

mod apt;
mod bootstrap;
mod chroot;
mod clean;
mod manifest;
mod room;
mod source;
mod spec;
#[cfg(test)]
mod spec_tests;
mod work;

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use images::{Algorithm, Checksum};
use serde_json::json;

pub use manifest::path as manifest_path;
pub use spec::{Content, Snapshot, Source, Spec};

use self::chroot::Chroot;
use self::spec::Origin;
use self::work::Work;
use crate::{disk, program};

/// Changes with what a build makes of the same spec; who keeps images knows by it which are old.
pub const RECIPE: u32 = 1;

/// What a build needs: the program and Debian's package of it.
const TOOLS: [(&str, &str); 6] = [
    ("qemu-img", "qemu-utils"),
    ("mount", "mount"),
    ("setpriv", "util-linux"),
    ("unshare", "util-linux"),
    ("resize2fs", "e2fsprogs"),
    ("mkfs.ext4", "e2fsprogs"),
];

/// What a build from packages needs besides.
const BOOTSTRAP: (&str, &str) = ("mmdebstrap", "mmdebstrap");

/// Builds an image. `say` is told what is being done.
///
/// # Errors
/// With what failed, where, and what can be done about it; then nothing is left behind, and an
/// image that was there before is as it was.
pub fn build(spec: &Spec, output: &Path, say: fn(&str)) -> Result<()> {
    spec.check()?;
    if !nix::unistd::geteuid().is_root() {
        bail!("building an image needs root: it mounts file systems and changes its root");
    }
    require_tools(spec)?;
    let output = std::path::absolute(output)?;
    let (work, left) = Work::open(&output)?;
    if left {
        say("removed what a build that was killed left behind");
    }
    disk::in_mount_namespace(|| made(spec, &output, &work, say))
        .with_context(|| format!("cannot build {}", spec.name))
}

/// Removes what a build of this output that was killed left behind.
///
/// # Errors
/// When something of it is still in use.
pub fn clear(output: &Path) -> Result<()> {
    work::clear(&std::path::absolute(output)?)
}

fn require_tools(spec: &Spec) -> Result<()> {
    let bootstrap = spec.source.suite.is_some().then_some(BOOTSTRAP);
    let all: Vec<_> = TOOLS.into_iter().chain(bootstrap).collect();
    let names: Vec<&'static str> = all.iter().map(|(name, _)| *name).collect();
    let missing = program::missing(&names);
    if missing.is_empty() {
        return Ok(());
    }
    let mut packages: Vec<_> = all
        .iter()
        .filter(|(name, _)| missing.contains(name))
        .map(|(_, package)| *package)
        .collect();
    packages.dedup();
    bail!("{} missing; apt-get install {}", missing.join(", "), packages.join(" "))
}

fn made(spec: &Spec, output: &Path, work: &Work, say: fn(&str)) -> Result<()> {
    let (disk, contents) = match spec.origin()? {
        Origin::Image { place, checksum } => {
            say("verifying and unpacking the source");
            let disk = source::disk(place, &checksum, work)?;
            resize(&disk, spec.size()?)?;
            let contents = in_disk(spec, &disk, work, say)?;
            (disk, contents)
        }
        Origin::Packages { suite, mirror, keyring } => {
            say("installing packages");
            let tree = bootstrap::tree(suite, mirror, keyring, &spec.packages, work)?;
            let contents = changed(spec, &tree, work, say)?;
            let size = spec.size()?.unwrap_or(bootstrap::SIZE);
            (bootstrap::disk(&spec.name, &tree, size, work)?, contents)
        }
    };
    say("packing the image");
    let root = disk::root(&disk)?.context("the disk has no root")?;
    disk::check(&disk, &root).context("the image's file system came out damaged")?;
    finish(spec, &disk, &contents, output, work)
}

/// What the manifest says of an image's inside.
struct Contents {
    packages: Vec<manifest::Package>,
    files: Vec<(String, String)>,
}

fn resize(disk: &Path, size: Option<u64>) -> Result<()> {
    let Some(size) = size else { return Ok(()) };
    let file = File::options().write(true).open(disk)?;
    let now = file.metadata()?.len();
    if size < now {
        bail!(
            "the source's disk has {} MiB, which does not fit into {} MiB",
            now >> 20,
            size >> 20
        );
    }
    file.set_len(size)?;
    disk::grow(disk).context("cannot grow the source's file system")
}

/// Changes the system on a disk.
fn in_disk(spec: &Spec, disk: &Path, work: &Work, say: fn(&str)) -> Result<Contents> {
    let Some(root) = disk::root(disk)? else {
        bail!("the source has neither a root partition nor a file system");
    };
    let place = work.join("root");
    fs::create_dir(&place)?;
    let mut mount = program::command("mount");
    if root.ext4.is_some() {
        mount.args(["-t", "ext4"]);
    }
    program::finish(mount.arg("-o").arg(root.mount_options()).arg(disk).arg(&place))
        .context("cannot mount the source's root")?;
    let contents = changed(spec, &place, work, say)?;
    // What was deleted would be carried along; where the kernel cannot tell, the image is larger.
    let _ = program::output(program::command("fstrim").arg(&place))?;
    nix::mount::umount(&place).context("cannot unmount the image")?;
    Ok(contents)
}

/// Changes the system in a tree.
fn changed(spec: &Spec, root: &Path, work: &Work, say: fn(&str)) -> Result<Contents> {
    let inside = Chroot::enter(root, &work.join("own"))?;
    if let (Some(snapshot), false) = (&spec.snapshot, spec.packages.is_empty()) {
        say("installing packages");
        apt::install(&inside, &spec.packages, snapshot)?;
    }
    let files = write_files(spec, &inside)?;
    for command in &spec.commands {
        let mut run = inside.command("sh");
        program::finish(run.args(["-e", "-c", command]))
            .with_context(|| format!("the command '{command}' failed in the image"))?;
    }
    clean::require_agent(root)?;
    let packages = manifest::packages(&inside)?;
    inside.leave()?;
    clean::generalise(root)?;
    Ok(Contents { packages, files })
}

/// Writes the spec's files from the inside, where links lead nowhere else.
fn write_files(spec: &Spec, inside: &Chroot) -> Result<Vec<(String, String)>> {
    let mut written = Vec::new();
    for (number, file) in spec.files.iter().enumerate() {
        let bytes = match (&file.content, &file.source) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Some(source)) => {
                fs::read(source).with_context(|| format!("cannot read {}", source.display()))?
            }
            (None, None) => Vec::new(),
        };
        let name = format!("file-{number}");
        let staged = inside.own().join(&name);
        fs::write(&staged, bytes)?;
        let mut install = inside.command("install");
        let mode = format!("--mode={:04o}", file.mode()?);
        install.args(["-D", &mode, &format!("{}/{name}", chroot::OWN), &file.path]);
        program::finish(&mut install)
            .with_context(|| format!("cannot write {} in the image", file.path))?;
        let sum = Checksum::of_file(&staged, Algorithm::Sha256)?;
        written.push((file.path.clone(), sum.to_string()));
    }
    Ok(written)
}

/// Packs the disk, writes the manifest and puts both in their places.
fn finish(spec: &Spec, disk: &Path, inside: &Contents, output: &Path, work: &Work) -> Result<()> {
    let packed = work.join("packed.qcow2");
    let mut convert = program::command("setpriv");
    convert
        .args(["--pdeathsig", "KILL", "qemu-img", "convert", "-f", "raw", "-O", "qcow2", "-c"])
        .args(["-o", "compression_type=zstd"])
        .arg(disk)
        .arg(&packed);
    program::finish(&mut convert)?;
    let sum = Checksum::of_file(&packed, Algorithm::Sha256)?;
    let told = json!({
        "file": output.file_name().unwrap_or_default().to_string_lossy(),
        "format": "qcow2",
        "disk_bytes": fs::metadata(disk)?.len(),
        "file_bytes": fs::metadata(&packed)?.len(),
        "checksum": sum.to_string(),
    });
    let manifest = manifest::manifest(spec, &inside.files, &inside.packages, &told);
    let told = work.join("manifest.json");
    fs::write(&told, format!("{}\n", serde_json::to_string_pretty(&manifest)?))?;
    let places: [(PathBuf, PathBuf); 2] =
        [(packed, output.to_owned()), (told, manifest::path(output))];
    for (made, _) in &places {
        File::open(made)?.sync_all()?;
    }
    for (made, place) in &places {
        fs::rename(made, place)
            .with_context(|| format!("cannot put {} in its place", place.display()))?;
    }
    Ok(())
}
