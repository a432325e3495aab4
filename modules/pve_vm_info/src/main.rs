//! Ansible module `pve_vm_info`: what the virtual machines of Proxmox VE are. Reads only.

use std::process::ExitCode;

mod module;
mod observe;
mod params;
mod returned;
mod target;

fn main() -> ExitCode {
    ansible_module::run::<module::PveVmInfo>()
}
