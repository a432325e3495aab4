//! From what Ansible sends to what a module asked for: aliases, fall-backs, types, choices and
//! relations, with the words Ansible itself uses when something is wrong.

mod boolean;
mod coerce;
mod decode;
mod literal;
mod messages;
mod omit;
mod relations;
mod secrets;
mod similar;
mod validate;

pub(crate) use decode::decode;
pub(crate) use validate::{Request, validate};

#[cfg(test)]
mod coerce_tests;
#[cfg(test)]
mod property_tests;
#[cfg(test)]
mod validate_tests;
