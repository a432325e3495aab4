//! Installs and removes packages with apt-get. It neither refreshes package lists nor upgrades
//! what is installed already.

use std::process::ExitCode;

mod apply;
mod error;
mod module;
mod observe;
mod package;
mod params;
mod plan;
mod simulation;

fn main() -> ExitCode {
    ansible_module::run::<module::AptPackages>()
}
