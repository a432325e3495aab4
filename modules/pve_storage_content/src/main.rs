//! Ansible module `pve_storage_content`: what a storage of Proxmox VE may hold. It adds, and never
//! takes away.

use std::process::ExitCode;

mod apply;
mod error;
mod module;
mod observe;
mod params;
mod plan;
mod preflight;

fn main() -> ExitCode {
    ansible_module::run::<module::PveStorageContent>()
}
