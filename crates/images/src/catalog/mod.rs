//! Images that others publish, pinned by a dated release and a checksum: where they are, and what
//! they are called here. An address that is published anew is no pin, and `latest` is refused.

mod entry;
mod layout;
mod serial;
#[cfg(test)]
mod tests;

pub use entry::{Entry, EntryError, Pinned, Publisher, Variant};
pub(crate) use layout::Layout;
pub(crate) use serial::Serial;
