//! The built binary against a lab over TLS, as Ansible runs it.

mod create;
mod faults;
mod power;
mod refuse;
mod support;
mod update;
