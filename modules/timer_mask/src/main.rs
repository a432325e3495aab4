//! Keeps systemd timers from starting, so that neither a package's presets nor a boot bring them
//! back. Works on files and tells systemd about it where one is running, so that the same task
//! does in an image build.

use std::process::ExitCode;

mod apply;
mod error;
mod module;
mod observe;
mod params;
mod plan;
mod record;
mod units;

fn main() -> ExitCode {
    ansible_module::run::<module::TimerMask>()
}
