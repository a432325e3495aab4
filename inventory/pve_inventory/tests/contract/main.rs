//! The built inventory: what it asks, what it prints, and what Ansible makes of that.

#[cfg(test)]
mod address;
#[cfg(test)]
mod ansible;
#[cfg(test)]
mod cache;
#[cfg(test)]
mod clusters;
#[cfg(test)]
mod configuration;
#[cfg(test)]
mod containers;
#[cfg(test)]
mod docs;
#[cfg(test)]
mod failures;
#[cfg(test)]
mod fleet;
#[cfg(test)]
mod fleets;
#[cfg(test)]
mod hostile;
#[cfg(test)]
mod nss;
#[cfg(test)]
mod reading;
#[cfg(test)]
#[path = "../../../../crates/pve-client/tests/wire/server.rs"]
#[expect(dead_code, reason = "the client's own tests use all of it")]
mod server;
#[cfg(test)]
mod specs;
#[cfg(test)]
mod wishes;
