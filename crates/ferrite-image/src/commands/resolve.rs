//! `ferrite-image resolve`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use clap::Args as Arguments;
use images::{Entry, Publisher, Signatures, Upstream, Variant, resolve};
use similar::TextDiff;

use super::wait::wait;
use crate::catalog::{Catalog, PLACE};
use crate::progress::Bar;

/// Finds newer builds of what the catalog pins, and shows the difference that they make to it.
///
/// Nothing is written unless `--write` is given. A name that the catalog does not have becomes a new
/// entry, of the publisher and release that are given.
#[derive(Arguments)]
pub(super) struct Args {
    /// The names of entries; all of the catalog if none is given.
    entries: Vec<String>,
    /// Write the catalog, instead of only showing the difference.
    #[arg(long)]
    write: bool,
    /// The dated build or version to pin, instead of the newest one.
    #[arg(long, value_name = "BUILD")]
    to: Option<String>,
    /// The catalog.
    #[arg(long, value_name = "FILE", default_value = PLACE)]
    catalog: PathBuf,
    /// The keys that signatures of checksums are checked with, as `gpg --export` writes them. By
    /// default those of the package ubuntu-cloudimage-keyring.
    #[arg(long, value_name = "FILE", conflicts_with = "unsigned")]
    keyring: Option<PathBuf>,
    /// Do not check signatures, but rely on https.
    #[arg(long)]
    unsigned: bool,
    /// How many seconds nothing may come.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    stall_timeout: u64,
    #[command(flatten)]
    new: New,
}

/// What a new entry is of.
#[derive(Arguments)]
#[command(next_help_heading = "For a new entry")]
struct New {
    /// Who publishes it: debian, ubuntu or talos.
    #[arg(long, value_parser = publisher)]
    publisher: Option<Publisher>,
    /// The code name of the release. Talos has none: the newest version is taken, or `--to`.
    #[arg(long, requires = "publisher")]
    release: Option<String>,
    /// The architecture.
    #[arg(long, requires = "publisher")]
    arch: Option<String>,
    /// Which of Debian's images: genericcloud or generic.
    #[arg(long, requires = "publisher", value_parser = variant)]
    variant: Option<Variant>,
    /// An official extension of Talos; may be given again.
    #[arg(long = "extension", value_name = "EXTENSION", requires = "publisher")]
    extensions: Vec<String>,
    /// The id of a schematic of Talos.
    #[arg(long, requires = "publisher")]
    schematic: Option<String>,
    /// An address that has the same files as the publisher's own.
    #[arg(long, requires = "publisher")]
    mirror: Option<String>,
}

fn publisher(word: &str) -> Result<Publisher, String> {
    let found = Publisher::ALL.into_iter().find(|publisher| publisher.word() == word);
    found.ok_or_else(|| Publisher::ALL.map(Publisher::word).join(", ") + " publish images")
}

fn variant(word: &str) -> Result<Variant, String> {
    let mut all = [Variant::Genericcloud, Variant::Generic].into_iter();
    let found = all.find(|variant| variant.word() == word);
    found.ok_or_else(|| "genericcloud or generic".to_owned())
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let (before, wanted) = wanted(args)?;
    let upstream = Upstream {
        signatures: match &args.keyring {
            _ if args.unsigned => Signatures::Unchecked,
            Some(path) => Signatures::Keyring(path.clone()),
            None => Signatures::System,
        },
        stall: Duration::from_secs(args.stall_timeout),
    };
    let mut after = before.clone();
    let mut failed = false;
    for (name, entry) in wanted {
        let mut bar = Bar::new();
        let mut show = |progress| bar.show(progress);
        let to = args.to.as_deref();
        let asked = wait(async { Ok(resolve(&entry, to, &upstream, &mut show).await) });
        bar.end();
        // one that cannot be had keeps nobody from seeing the others
        match asked? {
            Ok(resolved) => {
                for note in resolved.notes {
                    eprintln!("ferrite-image: {name}: {note}");
                }
                eprintln!("ferrite-image: {name}: {}", told(before.find(&name), &resolved.entry));
                after = after.with(&name, &resolved.entry)?;
            }
            Err(error) => {
                eprintln!("ferrite-image: {name}: {error}");
                failed = true;
            }
        }
    }
    let path = before.path().display().to_string();
    let diff = TextDiff::from_lines(before.text(), after.text());
    print!("{}", diff.unified_diff().header(&path, &path));
    if failed {
        bail!("nothing is written, since not every entry could be resolved");
    }
    if args.write && before.text() != after.text() {
        after.write()?;
        eprintln!("ferrite-image: wrote {path}");
    }
    Ok(ExitCode::SUCCESS)
}

/// The catalog, and what is asked for of it.
fn wanted(args: &Args) -> Result<(Catalog, Vec<(String, Entry)>)> {
    let Some(publisher) = args.new.publisher else {
        let catalog = Catalog::read(&args.catalog)?;
        let names = if args.entries.is_empty() { catalog.names() } else { args.entries.clone() };
        ensure!(!names.is_empty(), "{} has no entries", args.catalog.display());
        ensure!(args.to.is_none() || names.len() == 1, "--to: it is for one entry, give its name");
        let entries = names.into_iter().map(|name| {
            let entry = catalog.entry(&name)?.clone();
            Ok((name, entry))
        });
        let entries = entries.collect::<Result<Vec<_>>>()?;
        return Ok((catalog, entries));
    };
    let [name] = args.entries.as_slice() else {
        bail!("--publisher: it is of one new entry, give its name");
    };
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    ensure!(
        name.starts_with(|c: char| c.is_ascii_alphabetic()) && name.bytes().all(fits),
        "'{name}' is no name of an entry: letters, digits, _ and -, a letter first"
    );
    let catalog = Catalog::read_or_new(&args.catalog)?;
    ensure!(
        catalog.find(name).is_none(),
        "{} has an entry '{name}' already; to see newer builds of it, leave --publisher out",
        args.catalog.display()
    );
    let New { release, arch, variant, extensions, schematic, mirror, .. } = &args.new;
    if publisher != Publisher::Talos {
        release.as_ref().context("--release: it is missing")?;
    }
    let entry = Entry {
        publisher,
        release: release.clone().unwrap_or_default(),
        serial: None,
        arch: arch.clone().unwrap_or_else(|| "amd64".to_owned()),
        variant: *variant,
        schematic: schematic.clone(),
        extensions: extensions.clone(),
        mirror: mirror.clone(),
        // nothing is pinned yet
        checksum: String::new(),
    };
    Ok((catalog, vec![(name.clone(), entry)]))
}

/// What became of an entry, in a line.
fn told(before: Option<&Entry>, after: &Entry) -> String {
    fn build(entry: &Entry) -> &str {
        entry.serial.as_deref().unwrap_or(&entry.release)
    }
    match before {
        None => format!("{} is pinned", build(after)),
        Some(before) if before == after => format!("{} is the newest", build(after)),
        Some(before) => format!("{} -> {}", build(before), build(after)),
    }
}
