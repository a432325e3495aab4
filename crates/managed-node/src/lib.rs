//! The only crate that touches the managed node: files, and the few commands we run.
//!
//! A [`Node`] has a root: `/` in service, a directory for an image build or a test. Paths never
//! leave it, not through a symlink either. Users are read from the node's own files and never
//! through libc: a static glibc program crashes inside NSS.

mod command;
mod error;
mod fake;
mod files;
mod lock;
mod node;
mod path;
mod private;
mod replace;
mod tree;
mod users;

pub use command::{Command, CommandError, Output, Rooted, Runner, SystemRunner};
pub use error::NodeError;
pub use fake::Recorder;
pub use files::{Entry, Kind};
pub use lock::{Holder, Lock};
pub use node::Node;
pub use replace::{Attributes, Saved, is_running};
pub use users::User;
