//! The images that guests are made from: what `ferrite-image` does, and what it knows of disks.

pub mod build;
mod catalog;
mod commands;
pub mod disk;
mod program;
mod progress;

pub use commands::main;
