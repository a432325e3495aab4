//! Real builds, in one binary: they share what they are made from.

#![expect(clippy::unwrap_used, reason = "this is for tests")]

mod builds;
mod kills;
mod support;
