//! The images that guests are made from: what `ferrite-image` does, and what it knows of disks.

pub mod build;
mod commands;
pub mod disk;
mod program;

pub use commands::main;
