//! The built binary against the lab, and a server of files that misbehaves on request.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod absent;
mod controller;
mod download;
mod faults;
mod interrupted;
mod memory;
mod preflight;
mod privileges;
mod replace;
mod support;
mod upload;
