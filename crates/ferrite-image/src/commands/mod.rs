//! The command line: a file here for each subcommand.

mod build;
mod fetch;
mod resolve;
mod schematic;
mod supervise;
mod verify;
mod wait;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Pins, fetches, verifies and builds the images that guests are made from.
#[derive(Parser)]
#[command(name = "ferrite-image", version, about)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Resolve(resolve::Args),
    Fetch(fetch::Args),
    Verify(verify::Args),
    Schematic(schematic::Args),
    Build(build::Args),
}

/// Does what the command line says.
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Resolve(args) => resolve::run(&args),
        Command::Fetch(args) => fetch::run(&args),
        Command::Verify(args) => verify::run(&args),
        Command::Schematic(args) => schematic::run(&args),
        Command::Build(args) => build::run(&args),
    };
    result.unwrap_or_else(|error| {
        eprintln!("ferrite-image: {error:#}");
        ExitCode::FAILURE
    })
}
