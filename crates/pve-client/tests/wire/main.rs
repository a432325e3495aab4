//! The client against a server over real TLS, which does what pveproxy does on bad days.

#[cfg(test)]
mod calls;
#[cfg(test)]
mod server;
#[cfg(test)]
mod tasks;
#[cfg(test)]
mod tickets;
#[cfg(test)]
mod trust;
#[cfg(test)]
mod uploads;
