//! `ferrite-image schematic`.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result};
use clap::Args as Arguments;
use images::Schematic;

/// Tells the id of a schematic of the Talos Image Factory, without asking the factory.
#[derive(Arguments)]
pub(super) struct Args {
    /// The schematic, a file of YAML with `customization`.
    file: PathBuf,
    /// Print the customisation as the factory writes it, of which the id is the SHA-256.
    #[arg(long)]
    yaml: bool,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let name = args.file.display().to_string();
    let text = fs::read_to_string(&args.file).with_context(|| format!("failed to read {name}"))?;
    let schematic: Option<Schematic> =
        serde_yaml_ng::from_str(&text).with_context(|| format!("{name} is no schematic"))?;
    let schematic = schematic.unwrap_or_default();
    let told = if args.yaml { schematic.yaml() } else { schematic.id().map(|id| id + "\n") };
    print!("{}", told.with_context(|| name)?);
    Ok(ExitCode::SUCCESS)
}
