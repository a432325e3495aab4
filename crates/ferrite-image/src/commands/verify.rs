//! `ferrite-image verify`.

use std::fs::{self, File};
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args as Arguments;
use images::{Algorithm, Checksum, Compression, Format, Probe, Summer, Sums, unpack};

use crate::catalog::{Catalog, PLACE};

/// Looks at an image: its checksums, what it is, and whether anything is wrong with it.
///
/// It fails if the checksum is not the one that is expected, or if the image is not to be used: one
/// that is cut off, damaged, or takes content from other files. What is compressed is decompressed
/// and looked at as well.
#[derive(Arguments)]
pub(super) struct Args {
    /// The image.
    file: PathBuf,
    /// The checksum that it has to have, `sha256:...` or `sha512:...`.
    #[arg(long, conflicts_with_all = ["entry", "sums"])]
    checksum: Option<Checksum>,
    /// The entry of the catalog that it has to be.
    #[arg(long, value_name = "NAME", conflicts_with = "sums")]
    entry: Option<String>,
    /// A file of checksums, SHA256SUMS or SHA512SUMS, that has to have the image's.
    #[arg(long, value_name = "FILE")]
    sums: Option<PathBuf>,
    /// The catalog.
    #[arg(long, value_name = "FILE", default_value = PLACE)]
    catalog: PathBuf,
    /// A folder with room for what is decompressed.
    #[arg(long, value_name = "FOLDER", default_value = "/var/tmp")]
    tmpdir: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let path = &args.file;
    let expected = expected(args)?;
    let unread = || format!("failed to read {}", path.display());
    let mut file = File::open(path).with_context(unread)?;
    let probe = Probe::of(&file).with_context(unread)?;
    file.rewind().with_context(unread)?;
    let found = sums(&mut file).with_context(unread)?;

    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let mut rows = vec![("file", path.display().to_string())];
    rows.push(("size", format!("{} bytes", probe.size)));
    rows.extend(described(&probe, "format"));
    rows.extend(found.iter().map(|sum| (sum.algorithm().word(), sum.hex().to_owned())));
    let mut problems = probe.problems.clone();
    problems.extend(probe.contradicts(&name));
    if let Format::Compressed(compression) = probe.format {
        file.rewind().with_context(unread)?;
        match inner(&file, compression, &args.tmpdir) {
            Ok(inside) => {
                rows.push(("holds", format!("{} bytes", inside.size)));
                rows.extend(described(&inside, "which is"));
                problems.extend(inside.problems);
            }
            Err(error) => problems.push(format!("it cannot be decompressed: {error:#}")),
        }
    }
    match &expected {
        Some(expected) if !found.contains(expected) => {
            problems.push(format!("{expected} is expected, and it has another"));
        }
        Some(expected) => {
            rows.push(("checksum", format!("{} is the expected one", expected.algorithm().word())));
        }
        None => problems.extend(name_lies(&name, &found)),
    }
    for (key, value) in rows {
        println!("{key:<9} {value}");
    }
    for problem in &problems {
        eprintln!("ferrite-image: {}: {problem}", path.display());
    }
    Ok(if problems.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The checksum that somebody vouches for.
fn expected(args: &Args) -> Result<Option<Checksum>> {
    if let Some(name) = &args.entry {
        let catalog = Catalog::read(&args.catalog)?;
        return Ok(Some(catalog.entry(name)?.pinned()?.checksum));
    }
    let Some(path) = &args.sums else { return Ok(args.checksum.clone()) };
    let text =
        fs::read_to_string(path).with_context(|| format!("failed to read {}", path.display()))?;
    let sums = Sums::read(&text).with_context(|| path.display().to_string())?;
    let name = args.file.file_name().unwrap_or_default().to_string_lossy();
    let sum = sums.of(&name).cloned();
    Ok(Some(sum.with_context(|| format!("{} has no checksum of {name}", path.display()))?))
}

fn described(probe: &Probe, key: &'static str) -> Vec<(&'static str, String)> {
    let mut rows = vec![(key, probe.format.word().to_owned())];
    let disk = probe.disk.filter(|disk| *disk != probe.size);
    rows.extend(disk.map(|disk| ("disk", format!("{disk} bytes"))));
    rows
}

/// Both checksums, read once.
fn sums(file: &mut File) -> io::Result<[Checksum; 2]> {
    let mut summers = [Algorithm::Sha256, Algorithm::Sha512].map(Summer::new);
    let mut piece = vec![0; 1 << 20];
    loop {
        let read = file.read(&mut piece)?;
        if read == 0 {
            return Ok(summers.map(Summer::done));
        }
        summers.iter_mut().for_each(|summer| summer.add(&piece[..read]));
    }
}

/// What is in a compressed file.
fn inner(file: &File, compression: Compression, folder: &Path) -> Result<Probe> {
    let mut inside = tempfile::tempfile_in(folder)
        .with_context(|| format!("there is no file to be made in {}", folder.display()))?;
    unpack(file, Some(compression), Algorithm::Sha256, &mut inside)?;
    Ok(Probe::of(&inside)?)
}

/// A name that holds the beginning of a checksum says which content it has.
fn name_lies(name: &str, found: &[Checksum]) -> Option<String> {
    let stem = name.split('.').next().unwrap_or_default();
    // a version has points
    let stem = name.rfind('.').map_or(stem, |at| &name[..at]);
    let (_, said) = stem.rsplit_once('-')?;
    let digits = said.len() == found[0].prefix().len()
        && said.bytes().all(|byte| byte.is_ascii_hexdigit() && !byte.is_ascii_uppercase());
    let lies = digits && !found.iter().any(|sum| sum.prefix() == said);
    lies.then(|| format!("its name says content {said}, and it has another"))
}
