//! PVE's REST API over TLS: the only crate that speaks HTTP.
//!
//! [`ConnectOptions`] say where and who, [`Client`] calls, folders follow the API's paths
//! (`nodes/qemu/agent.rs`), tasks are followed to their end ([`Client::wait`]), and [`Error`] is
//! sorted by what the caller may do next. Everything is async and happy on a current-thread
//! runtime. A read is repeated when the connection broke, a write never is.

mod access;
mod auth;
mod classify;
mod client;
mod cluster;
mod dns;
mod endpoint;
mod error;
mod find;
mod fingerprint;
mod form;
mod guest;
mod held;
mod nodes;
mod options;
mod pauses;
mod published;
mod report;
mod storage;
mod tls;
mod transport;
mod upload;
mod version;

pub use access::Permissions;
pub use classify::Kind;
pub use client::Client;
pub use cluster::Resource;
pub use error::{Error, Refusal, TaskError};
pub use find::{FindError, Named, same_name};
pub use fingerprint::Fingerprint;
pub use form::Form;
pub use guest::{GuestConfig, GuestStatus, PendingItem, Snapshot, View};
pub use held::{still_locked, while_held};
pub use nodes::lxc::Lxc;
pub use nodes::qemu::Qemu;
pub use nodes::qemu::agent::Agent;
pub use nodes::storage::{Content, NodeStorage, StorageStatus, UrlMetadata, VolumeInfo};
pub use nodes::tasks::{TaskOutcome, TaskStatus};
pub use nodes::{NetworkRow, Node, NodeRow};
pub use options::{ConnectOptions, DEFAULT_TIMEOUT, OptionsError};
pub use pauses::Pauses;
pub use published::{Published, PublishedError};
pub use storage::StorageRow;
pub use tls::TrustError;
pub use upload::{Sent, Upload};
pub use version::Version;
