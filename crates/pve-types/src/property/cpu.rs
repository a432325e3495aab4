//! `cpu`: the emulated processor.

use super::grammar::{Grammar, Kind};
use super::limit::Limit;

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
        limits: &[
            (
                "flags",
                Limit::Form(is_flags, "flags with + or - before each, joined by ';': +aes;-pcid"),
            ),
            ("guest-phys-bits", Limit::Whole(32, 64)),
            ("phys-bits", Limit::Form(is_bits, "8 to 64, or host")),
        ],
        kinds: &[("flags", Kind::Set), ("hidden", Kind::Flag), ("guest-phys-bits", Kind::Number)],
        defaults: &[("cputype", "kvm64"), ("hidden", "0")],
        ..Grammar::PLAIN
    };
}

fn is_flags(text: &str) -> bool {
    text.split(';').all(|flag| {
        flag.strip_prefix(['+', '-']).is_some_and(|name| {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
            !name.is_empty() && name.bytes().all(plain)
        })
    })
}

fn is_bits(text: &str) -> bool {
    text == "host" || text.parse::<u64>().is_ok_and(|bits| (8..=64).contains(&bits))
}
