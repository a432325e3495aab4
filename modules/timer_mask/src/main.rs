//! Placeholder until its first cut.
fn main() {}
