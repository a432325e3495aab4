//! Waits for the end of a first boot: cloud-init, apt's own jobs, the locks of apt and dpkg. It
//! changes nothing, stops nothing and starts nothing.

use std::process::ExitCode;

mod cloud_init;
mod error;
mod module;
mod observe;
mod params;

fn main() -> ExitCode {
    ansible_module::run::<module::FirstBoot>()
}
