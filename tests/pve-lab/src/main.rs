//! The lab as a command.
fn main() {}
