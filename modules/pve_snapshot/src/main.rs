//! Ansible module `pve_snapshot`: states of a virtual machine to go back to.

use std::process::ExitCode;

mod apply;
mod change;
mod check;
mod found;
mod module;
mod observe;
mod params;
mod plan;
mod preflight;
mod show;
mod target;

fn main() -> ExitCode {
    ansible_module::run::<module::PveSnapshot>()
}
