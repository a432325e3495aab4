//! Ansible module `pve_vm`: virtual machines of Proxmox VE, compared and changed by difference.

use std::process::ExitCode;

mod apply;
mod change;
mod check;
mod found;
mod identity;
mod lined;
mod module;
mod observe;
mod params;
mod plan;
mod preflight;
mod privileges;
mod settings;
mod show;
mod source;
mod target;
#[cfg(test)]
mod tests;
mod wait;
mod wanted;

fn main() -> ExitCode {
    ansible_module::run::<module::PveVm>()
}
