//! A PVE API whose guests are real Debian systems, or state only.

pub mod driver;
