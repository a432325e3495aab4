//! `cpu`: the emulated processor.

use super::grammar::{Grammar, Kind};

super::codec! {
    /// The emulated processor: `host`, `x86-64-v2-AES,flags=+aes;-pcid`.
    CpuModel
}

impl CpuModel {
    /// The names and the comparison of its sub-options. Models are not listed: the server knows
    /// more of them than this release does.
    pub const GRAMMAR: &'static Grammar = &Grammar {
        what: "a processor model",
        default_key: Some("cputype"),
        keys: &[
            "cputype",
            "flags",
            "guest-phys-bits",
            "hidden",
            "hv-vendor-id",
            "level",
            "phys-bits",
            "reported-model",
        ],
        kinds: &[("flags", Kind::Set), ("hidden", Kind::Flag), ("guest-phys-bits", Kind::Number)],
        defaults: &[("cputype", "kvm64"), ("hidden", "0")],
        ..Grammar::PLAIN
    };
}
