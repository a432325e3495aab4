//! `machine`: the emulated board.

use super::grammar::{Grammar, Kind};
use super::limit::{Limit, is_digits};

super::codec! {
    /// The emulated board: `q35`, `pc-q35-9.0,viommu=intel`.
    Machine
}

impl Machine {
    /// The names and the comparison of its sub-options.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a machine type",
        default_key: Some("type"),
        keys: &["type", "aw-bits", "enable-s3", "enable-s4", "viommu"],
        choices: &[("viommu", &["intel", "virtio"])],
        limits: &[
            ("type", Limit::Form(is_type, "q35, pc, pc-q35-9.0, pc-i440fx-9.0 or virt")),
            ("aw-bits", Limit::Number(32.0, 64.0)),
        ],
        kinds: &[("enable-s3", Kind::Flag), ("enable-s4", Kind::Flag), ("aw-bits", Kind::Number)],
        ..Grammar::PLAIN
    };
}

/// A board, with the version of QEMU whose board it is if that is said: `pc-q35-9.0+pve1`.
fn is_type(text: &str) -> bool {
    if matches!(text, "pc" | "q35" | "virt") {
        return true;
    }
    let boards = ["pc-i440fx-", "pc-q35-", "virt-", "pc-"];
    let Some(version) = boards.iter().find_map(|board| text.strip_prefix(board)) else {
        return false;
    };
    let version = version.strip_suffix(".pxe").unwrap_or(version);
    let (version, revision) = version.split_once("+pve").unwrap_or((version, "0"));
    version.contains('.') && version.split('.').all(is_digits) && is_digits(revision)
}
