//! Property strings: comma-joined `key=value` in one setting, a codec for each.
//!
//! A codec holds the line as it was read and prints it unchanged. Two are equal when they mean the
//! same: the order of the parts, the case of a MAC, units of sizes, spellings of truth values and
//! the server's defaults do not matter. [`Grammar`] knows the names and the comparison;
//! [`PropertyString`] only the parts.

mod agent;
mod boot;
mod check;
mod cpu;
pub mod devices;
mod disk;
mod disk_keys;
mod grammar;
mod ipconfig;
mod limit;
mod lxc_net;
mod machine;
mod memory;
mod net;
mod smbios;
mod startup;
mod string;
mod vga;

pub use agent::Agent;
pub use boot::Boot;
pub use cpu::CpuModel;
pub use disk::{Disk, DiskSource};
pub use grammar::{Grammar, Kind, Options};
pub use ipconfig::IpConfig;
pub(crate) use ipconfig::static_addresses;
pub use limit::Limit;
pub use lxc_net::LxcNet;
pub use machine::Machine;
pub use memory::MemoryString;
pub use net::NetDevice;
pub use smbios::Smbios;
pub(crate) use smbios::is_uuid;
pub use startup::Startup;
pub use string::{Part, PropertyString};
pub use vga::Vga;

/// A codec over a grammar: reads any line, prints it unchanged, compares by meaning.
macro_rules! codec {
    ($(#[$doc:meta])* $type:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone)]
        pub struct $type {
            line: String,
            options: $crate::property::Options,
        }

        impl $type {
            /// Reads a line. What cannot be understood is kept.
            #[must_use]
            pub fn new(line: &str) -> Self {
                Self { line: line.to_owned(), options: Self::GRAMMAR.options(line) }
            }

            /// The sub-options by their canonical names.
            #[must_use]
            pub fn options(&self) -> &$crate::property::Options {
                &self.options
            }

            /// One sub-option by its canonical name.
            #[must_use]
            pub fn get(&self, key: &str) -> Option<&str> {
                self.options.get(key).map(String::as_str)
            }
        }

        impl ::std::fmt::Display for $type {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(&self.line)
            }
        }

        impl PartialEq for $type {
            fn eq(&self, other: &Self) -> bool {
                Self::GRAMMAR.same(&self.line, &other.line)
            }
        }
    };
}

pub(crate) use codec;

#[cfg(test)]
mod tests;
