//! Keeps the settings of apt's periodic jobs in one file that is seen to be in force. The timers
//! that start the jobs are another module's work.

use std::process::ExitCode;

mod apply;
mod config;
mod error;
mod module;
mod observe;
mod params;
mod plan;

fn main() -> ExitCode {
    ansible_module::run::<module::AptPeriodic>()
}
