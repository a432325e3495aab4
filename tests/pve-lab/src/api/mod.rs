//! The API over HTTPS. Folders follow the paths of PVE's API.

mod access;
mod auth;
mod call;
mod cluster;
mod dispatch;
mod error;
mod formats;
mod nodes;
mod params;
mod permissions;
mod pools;
mod property;
mod router;
pub(crate) mod schema;
pub(crate) mod server;
mod size;
mod storage;
mod tls;
mod upload;
mod version;

pub(crate) use tls::Certificate;
