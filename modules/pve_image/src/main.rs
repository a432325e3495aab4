//! Ansible module `pve_image`: image files on the storages of Proxmox VE, known by their content and
//! not by their name alone.

use std::process::ExitCode;

mod apply;
mod change;
mod found;
mod in_use;
mod module;
mod names;
mod nodes;
mod observe;
mod params;
mod plan;
mod preflight;
mod privileges;
mod request;
#[cfg(test)]
mod request_tests;
mod show;
mod source;
mod target;
mod transfer;
mod verify;

fn main() -> ExitCode {
    ansible_module::run::<module::PveImage>()
}
