//! Sets sshd options in a drop-in file and proves that they are in force. The candidate is tested
//! as part of the whole configuration before it is placed, sshd is asked what it would do, and
//! only then is it reloaded; what does not hold is taken back.

use std::process::ExitCode;

mod apply;
mod config;
mod daemon;
mod effective;
mod error;
mod keys;
mod module;
mod observe;
mod params;
mod plan;
mod render;
mod sshd;
mod trial;

fn main() -> ExitCode {
    ansible_module::run::<module::SshdDropin>()
}
