//! `ferrite-image build`.

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Result;
use clap::Args as Arguments;

use super::supervise;
use crate::build::{self, Spec};
use crate::catalog::PLACE;

/// Builds an image from its spec: a pinned source and pinned packages in, a qcow2 and its manifest
/// out. Needs root.
#[derive(Arguments)]
pub(super) struct Args {
    /// The spec, a file of YAML.
    spec: PathBuf,
    /// The image to write; NAME.qcow2 in the working directory if it is not given.
    #[arg(long, short)]
    output: Option<PathBuf>,
    /// The catalog, for a spec whose source is an entry of it.
    #[arg(long, value_name = "FILE", default_value = PLACE)]
    catalog: PathBuf,
}

pub(super) fn run(args: &Args) -> Result<ExitCode> {
    let spec = Spec::read(&args.spec, &args.catalog)?;
    spec.check()?;
    let named = || PathBuf::from(format!("{}.qcow2", spec.name));
    let output = args.output.clone().unwrap_or_else(named);
    if !supervise::is_worker() {
        return supervise::run(&output);
    }
    supervise::begin()?;
    build::build(&spec, &output, |what| eprintln!("ferrite-image: {what}"))?;
    println!("{}", output.display());
    Ok(ExitCode::SUCCESS)
}
