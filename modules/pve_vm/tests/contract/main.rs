//! The built binary against a lab over TLS, as Ansible runs it.

mod create;
mod faults;
mod interrupted;
mod power;
mod privileges;
mod refuse;
mod support;
mod update;
