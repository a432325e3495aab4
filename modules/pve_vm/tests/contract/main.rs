//! The built binary against a lab over TLS, as Ansible runs it.
#![expect(clippy::unwrap_used, reason = "what tests have in common panics where they do")]

mod clone;
mod cluster;
mod create;
mod faults;
mod foretold;
mod interrupted;
mod power;
mod privileges;
mod refuse;
mod restore;
mod settings;
mod states;
mod support;
mod update;
