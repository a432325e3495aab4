//! What holds for any input of every parser that reads what others wrote: property strings, agents'
//! reports, answers of the API, files of sshd and apt, arguments files, checksum files and images.
//!
//! Each property is a function that panics when it does not hold. The fuzz targets in `tests/fuzz` run
//! them on what libFuzzer makes up, and a test runs them on the corpus and mutations of it.

#![expect(clippy::expect_used, clippy::panic, reason = "a property that does not hold is a panic")]

mod address;
mod api;
mod apt;
mod arguments;
mod image;
mod settings;
mod sshd;

// The parsers of modules, which are programs and no libraries.
#[path = "../../../modules/apt_snapshot_pin/src"]
#[expect(dead_code, reason = "only its parsers are called here")]
mod apt_snapshot_pin {
    pub(crate) mod archive;
    pub(crate) mod error;
    pub(crate) mod lists;
    pub(crate) mod params;
    pub(crate) mod pinning;
    pub(crate) mod snapshot_id;
    pub(crate) mod sources;
}
#[path = "../../../modules/sshd_dropin/src/config/mod.rs"]
#[expect(dead_code, unused_imports, reason = "only its parsers are called here")]
mod sshd_config;

// as they call one another
use apt_snapshot_pin::{archive, error, lists, params, pinning, snapshot_id, sources};

pub use address::address;
pub use api::api;
pub use apt::{apt_indexes, apt_sources};
pub use arguments::arguments;
pub use image::{checksums, image};
pub use settings::setting;
pub use sshd::sshd;

/// A property of a parser, for any bytes.
pub type Property = fn(&[u8]);

/// All properties by the names of their fuzz targets.
pub const ALL: [(&str, Property); 9] = [
    ("address", address),
    ("api", api),
    ("apt_indexes", apt_indexes),
    ("apt_sources", apt_sources),
    ("arguments", arguments),
    ("checksums", checksums),
    ("image", image),
    ("setting", setting),
    ("sshd", sshd),
];
