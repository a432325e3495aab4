//! The contract between Ansible and a binary module: the arguments file in, one JSON object out,
//! and in between observe, plan, apply, observe again.
//!
//! It knows Ansible and nothing about PVE or Debian.

mod arguments;
mod describe;
mod entry;
mod failure;
mod module;
mod result;
mod run;
mod runner;
mod spec;

pub use entry::{check_arguments, run};
pub use failure::Failure;
pub use module::{COLLECTION, Diff, Meta, Module, Place, RequiredIf};
pub use run::Run;
