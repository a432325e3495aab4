//! The guests of Proxmox VE clusters as an Ansible inventory.
//!
//! A guest is reached at the address of its first NIC, found by its MAC, or at none with a reason.
//! What comes from the cluster is never a template on the control node. This program reads only:
//! it changes nothing on the cluster, and keeps nothing between runs unless a cache is asked for.

use std::process::ExitCode;

mod cache;
mod cli;
mod config;
mod error;
mod facts;
mod fetch;
mod filter;
mod groups;
mod guest;
mod hosts;
mod inventory;
mod limit;
mod names;
mod output;
mod show;
mod spec;
mod yaml;

fn main() -> ExitCode {
    cli::run()
}
