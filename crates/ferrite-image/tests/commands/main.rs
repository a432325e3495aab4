//! The command line as a person uses it, with publishers on the loopback interface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod docs;
mod fetch;
mod resolve;
mod support;
mod verify;
