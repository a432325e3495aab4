//! Pins apt's sources to a dated snapshot of their archives, proved in force or put back. It does
//! not install, upgrade or downgrade anything.

use std::process::ExitCode;

mod apply;
mod apt;
mod archive;
mod error;
mod lists;
mod memory;
mod module;
mod newer;
mod observe;
mod params;
mod pinning;
mod plan;
mod snapshot_id;
mod sources;
mod staging;
mod standing;
mod trial;

fn main() -> ExitCode {
    ansible_module::run::<module::AptSnapshotPin>()
}
