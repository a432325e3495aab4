//! The only crate that touches the managed node: files, and the few commands we run.
