//! Images by content: checksums, formats, downloads, and the catalog of upstream images.
//!
//! An image is what its checksum says, not what its file is called. [`Entry`] pins what others
//! publish, [`resolve()`] finds a newer build of it, [`fetch()`] brings a file that has the right
//! checksum or none at all, [`unpack`] decompresses in little memory, and [`Probe`] looks at a file
//! that a stranger made without trusting it. HTTP is spoken by `pve-client`.

mod address;
mod catalog;
mod checksum;
mod compression;
mod fetch;
mod part;
mod probe;
mod resolve;
mod schematic;
mod signature;
mod sums;
mod unpack;

pub use address::{password, shown};
pub use catalog::{Entry, EntryError, Pinned, Publisher, Variant};
pub use checksum::{Algorithm, Checksum, NoChecksum, Summer};
pub use compression::Compression;
pub use fetch::{Fetch, FetchError, Fetched, Progress, fetch};
pub use probe::{Format, Partitions, Probe};
pub use resolve::{ResolveError, Resolved, Upstream, resolve};
pub use schematic::{Customization, Schematic, SystemExtensions, Unsure};
pub use signature::{SignatureError, Signatures};
pub use sums::{Sums, SumsError};
pub use unpack::{Unpacked, unpack};
