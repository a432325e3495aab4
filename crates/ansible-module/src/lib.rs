//! The contract between Ansible and a binary module: the arguments file in, one JSON object out,
//! and in between observe, plan, apply, observe again.
//!
//! It knows Ansible and nothing about PVE or Debian.

mod failure;
mod module;
mod run;
mod runner;

pub use failure::Failure;
pub use module::{Diff, Meta, Module, Place, RequiredIf};
pub use run::Run;
pub use runner::run;
