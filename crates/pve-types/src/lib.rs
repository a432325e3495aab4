//! PVE's vocabulary as types: no I/O, no clock, no environment.
//!
//! A type for each of PVE's words, whose parse and print are inverses, and a codec for each
//! property string that keeps the sub-options it does not know. What a user writes is read
//! strictly, what a server answers leniently ([`lenient`]).

pub mod address;
mod description;
mod digest;
mod error;
mod keys;
pub mod lenient;
mod mac;
mod names;
mod parsed;
mod pattern;
pub mod property;
mod setting;
mod size;
mod sshkeys;
mod tags;
mod text;
mod token;
mod upid;
mod vmid;
mod volid;

pub use description::Description;
pub use digest::ConfigDigest;
pub use error::ParseError;
pub use keys::{FAMILIES, check_setting, check_words};
pub use mac::MacAddress;
pub use names::{GuestKind, NodeName, PoolId, StorageId};
pub use parsed::{Parsed, parsed, shown};
pub use pattern::Pattern;
pub use setting::{DISK_BUSES, Setting, slot};
pub use size::Size;
pub use sshkeys::SshKeys;
pub use tags::Tags;
pub use token::TokenId;
pub use upid::Upid;
pub use vmid::{Vmid, vm_label};
pub use volid::VolId;
