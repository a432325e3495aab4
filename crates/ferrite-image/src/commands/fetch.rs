//! `ferrite-image fetch`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use clap::Args as Arguments;
use images::{Fetch, Fetched, fetch};

use super::wait::wait;
use crate::catalog::{Catalog, PLACE};
use crate::progress::{Bar, size};

/// Fetches an image of the catalog: the one whose checksum is pinned, or nothing.
#[derive(Arguments)]
pub(super) struct Args {
    /// The name of the entry.
    entry: String,
    /// The file to write, or the folder to write it into under the name that says its content.
    #[arg(long, short, default_value = ".")]
    output: PathBuf,
    /// Replace a file that is there with other content.
    #[arg(long)]
    replace: bool,
    /// The catalog.
    #[arg(long, value_name = "FILE", default_value = PLACE)]
    catalog: PathBuf,
    /// How many seconds nothing may come. There is no limit to the whole of it.
    #[arg(long, value_name = "SECONDS", default_value = "300")]
    stall_timeout: u64,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let catalog = Catalog::read(&args.catalog)?;
    let pinned = catalog.entry(&args.entry)?.pinned().with_context(|| args.entry.clone())?;
    let to = if args.output.is_dir() {
        let here = args.output == Path::new(".");
        let name = pinned.file_name();
        if here { name.into() } else { args.output.join(name) }
    } else {
        args.output.clone()
    };
    let what = Fetch {
        url: &pinned.url,
        wanted: &pinned.checksum,
        to: &to,
        replace: args.replace,
        stall: Duration::from_secs(args.stall_timeout),
    };
    let mut bar = Bar::new();
    let fetched =
        wait(async { fetch(what, |progress| bar.show(progress)).await.map_err(Into::into) });
    bar.end();
    match fetched.with_context(|| args.entry.clone())? {
        Fetched::New(bytes) => eprintln!("ferrite-image: fetched {} ({bytes} bytes)", size(bytes)),
        Fetched::Present(_) => eprintln!("ferrite-image: it is there already"),
    }
    println!("{}", to.display());
    Ok(ExitCode::SUCCESS)
}
