//! A PVE API whose guests are real Debian systems, or state only.

pub mod driver;
pub mod guests;
pub mod image;
pub mod network;
pub mod repository;
