//! The command line: a file here for each subcommand.

mod build;
mod supervise;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Makes the images that guests are made from.
#[derive(Parser)]
#[command(name = "ferrite-image", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Build(build::Args),
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Build(args) => build::run(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("ferrite-image: {error:#}");
        ExitCode::FAILURE
    })
}
