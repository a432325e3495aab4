//! A PVE API whose guests are real Debian systems, or state only.
//!
//! [`Lab::start`] gives a test a PVE of its own: over TLS on a port of the loopback interface, with
//! a token, a log of all requests and faults on request. The program `pve-lab` is the same for
//! demonstrations, with real guests.

mod api;
mod bench;
mod control;
pub mod driver;
mod faults;
mod fleet;
pub mod guests;
pub mod image;
mod lab;
mod log;
pub mod network;
mod origin;
mod random;
pub mod repository;
mod scenarios;
mod shared;
mod start;
mod state;

pub use bench::Bench;
pub use control::{Fault, ask};
pub use driver::AgentScript;
pub use faults::{CallFault, TaskFault};
pub use fleet::Fleet;
pub use lab::{Lab, LabConfig, Start, TOKEN_ID};
pub use log::Request;
pub use origin::{Origin, Place};
pub use scenarios::{Scenario, scenarios};
pub use shared::PveVersion;
