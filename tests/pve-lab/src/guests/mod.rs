//! Guests that are real: Debian's own systemd, sshd, apt and guest agent, booted from a disk image
//! by systemd-nspawn.
//!
//! What a guest cannot have here: a kernel of its own, so no sysctls but the network's, and no
//! file systems that grow while it runs.

mod agent;
pub(crate) mod cgroup;
mod credentials;
pub(crate) mod host;
mod launch;
mod leftovers;
mod machines;
mod real;
mod requirements;
mod test_guest;
mod test_network;

pub use real::RealGuests;
pub use requirements::{Missing, requirements};
pub use test_guest::{Output, TestGuest};

pub use crate::image::Suite;
