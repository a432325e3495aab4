//! Placeholder until its first cut.
mod apt;
mod archive;
mod error;
mod lists;
mod memory;
mod params;
mod pinning;
mod snapshot_id;
mod sources;
fn main() {}
