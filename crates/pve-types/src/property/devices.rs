//! Devices and features whose lines need no reading of their own, only comparison.

use super::grammar::{Grammar, Kind};
use super::limit::{Limit, has_hex, is_digits};
use crate::VolId;

/// `hostpciN`: a device of the host, `mapping=gpu,pcie=1`.
pub const HOST_PCI: Grammar = Grammar {
    what: "a PCI device of the host",
    default_key: Some("host"),
    keys: &[
        "host",
        "mapping",
        "device-id",
        "driver",
        "legacy-igd",
        "mdev",
        "pcie",
        "rombar",
        "romfile",
        "sub-device-id",
        "sub-vendor-id",
        "vendor-id",
        "x-vga",
    ],
    choices: &[("driver", &["vfio", "keep"])],
    limits: &[
        ("vendor-id", Limit::HEX),
        ("device-id", Limit::HEX),
        ("sub-vendor-id", Limit::HEX),
        ("sub-device-id", Limit::HEX),
    ],
    kinds: &[
        ("pcie", Kind::Flag),
        ("rombar", Kind::Flag),
        ("x-vga", Kind::Flag),
        ("legacy-igd", Kind::Flag),
        ("vendor-id", Kind::Word),
        ("device-id", Kind::Word),
        ("sub-vendor-id", Kind::Word),
        ("sub-device-id", Kind::Word),
        ("host", Kind::Word),
    ],
    defaults: &[("pcie", "0"), ("rombar", "1"), ("x-vga", "0"), ("legacy-igd", "0")],
    ..Grammar::PLAIN
};

/// `usbN`: `spice`, `mapping=key,usb3=1`.
pub const USB: Grammar = Grammar {
    what: "a USB device",
    default_key: Some("host"),
    keys: &["host", "mapping", "usb3"],
    limits: &[(
        "host",
        Limit::Form(is_usb, "VENDOR:PRODUCT as 0951:1666, BUS-PORT as 1-1.2, or spice"),
    )],
    kinds: &[("usb3", Kind::Flag), ("host", Kind::Word)],
    defaults: &[("usb3", "0")],
    ..Grammar::PLAIN
};

/// `numaN`: `cpus=0-1,hostnodes=0,memory=1024,policy=bind`.
pub const NUMA: Grammar = Grammar {
    what: "a NUMA node",
    keys: &["cpus", "hostnodes", "memory", "policy"],
    required: &["cpus"],
    choices: &[("policy", &["preferred", "bind", "interleave"])],
    limits: &[("memory", Limit::ANY), ("cpus", Limit::RANGES), ("hostnodes", Limit::RANGES)],
    kinds: &[("memory", Kind::Number), ("cpus", Kind::Set), ("hostnodes", Kind::Set)],
    ..Grammar::PLAIN
};

/// `audio0`: `device=ich9-intel-hda,driver=spice`.
pub const AUDIO: Grammar = Grammar {
    what: "a sound device",
    keys: &["device", "driver"],
    required: &["device"],
    choices: &[
        ("device", &["ich9-intel-hda", "intel-hda", "AC97"]),
        ("driver", &["spice", "none"]),
    ],
    defaults: &[("driver", "spice")],
    ..Grammar::PLAIN
};

/// `rng0`: `source=/dev/urandom,max_bytes=1024`.
pub const RNG: Grammar = Grammar {
    what: "a source of random numbers",
    default_key: Some("source"),
    keys: &["source", "max_bytes", "period"],
    required: &["source"],
    choices: &[("source", &["/dev/urandom", "/dev/random", "/dev/hwrng"])],
    limits: &[("max_bytes", Limit::ANY), ("period", Limit::ANY)],
    kinds: &[("max_bytes", Kind::Number), ("period", Kind::Number)],
    defaults: &[("max_bytes", "1024"), ("period", "1000")],
    first: &["source"],
    ..Grammar::PLAIN
};

/// `watchdog`: `model=i6300esb,action=reset`.
pub const WATCHDOG: Grammar = Grammar {
    what: "a watchdog",
    default_key: Some("model"),
    keys: &["model", "action"],
    choices: &[
        ("model", &["i6300esb", "ib700"]),
        ("action", &["reset", "shutdown", "poweroff", "pause", "debug", "none"]),
    ],
    defaults: &[("model", "i6300esb")],
    ..Grammar::PLAIN
};

/// `virtiofsN`: a shared folder, `share,cache=always`.
pub const VIRTIOFS: Grammar = Grammar {
    what: "a shared folder",
    default_key: Some("dirid"),
    keys: &["dirid", "cache", "direct-io", "expose-acl", "expose-xattr"],
    required: &["dirid"],
    choices: &[("cache", &["auto", "always", "metadata", "never"])],
    kinds: &[("direct-io", Kind::Flag), ("expose-acl", Kind::Flag), ("expose-xattr", Kind::Flag)],
    defaults: &[("cache", "auto"), ("direct-io", "0"), ("expose-acl", "0"), ("expose-xattr", "0")],
    ..Grammar::PLAIN
};

/// `ivshmem`: memory shared with other processes of the host, `size=32,name=foo`.
pub const IVSHMEM: Grammar = Grammar {
    what: "a shared memory",
    keys: &["size", "name"],
    required: &["size"],
    limits: &[("size", Limit::Whole(1, u64::MAX))],
    kinds: &[("size", Kind::Number)],
    ..Grammar::PLAIN
};

/// `spice_enhancements`: `foldersharing=1,videostreaming=all`.
pub const SPICE: Grammar = Grammar {
    what: "the enhancements of SPICE",
    keys: &["foldersharing", "videostreaming"],
    choices: &[("videostreaming", &["off", "all", "filter"])],
    kinds: &[("foldersharing", Kind::Flag)],
    defaults: &[("foldersharing", "0"), ("videostreaming", "off")],
    ..Grammar::PLAIN
};

/// `intel-tdx`: encrypted memory, `tdx,attestation=1`.
pub const TDX: Grammar = Grammar {
    what: "the encryption of memory",
    default_key: Some("type"),
    keys: &["type", "attestation", "vsock-cid", "vsock-port"],
    kinds: &[
        ("attestation", Kind::Flag),
        ("vsock-cid", Kind::Number),
        ("vsock-port", Kind::Number),
    ],
    ..Grammar::PLAIN
};

/// `amd-sev`: encrypted memory, `std,no-debug=1`.
pub const SEV: Grammar = Grammar {
    what: "the encryption of memory",
    default_key: Some("type"),
    keys: &["type", "allow-smt", "kernel-hashes", "no-debug", "no-key-sharing"],
    kinds: &[
        ("allow-smt", Kind::Flag),
        ("kernel-hashes", Kind::Flag),
        ("no-debug", Kind::Flag),
        ("no-key-sharing", Kind::Flag),
    ],
    defaults: &[
        ("allow-smt", "1"),
        ("kernel-hashes", "0"),
        ("no-debug", "0"),
        ("no-key-sharing", "0"),
    ],
    ..Grammar::PLAIN
};

/// `cicustom`: own cloud-init files, `user=local:snippets/user.yml`.
pub const CICUSTOM: Grammar = Grammar {
    what: "own cloud-init files",
    keys: &["meta", "network", "user", "vendor"],
    limits: &[("meta", SNIPPET), ("network", SNIPPET), ("user", SNIPPET), ("vendor", SNIPPET)],
    ..Grammar::PLAIN
};

const SNIPPET: Limit = Limit::Form(
    |text| text.parse::<VolId>().is_ok(),
    "a volume of content snippets such as local:snippets/user.yml",
);

fn is_usb(text: &str) -> bool {
    if text.eq_ignore_ascii_case("spice") {
        return true;
    }
    if let Some((vendor, product)) = text.split_once(':') {
        let is_id = |id: &str| has_hex(id.strip_prefix("0x").unwrap_or(id), 4);
        return is_id(vendor) && is_id(product);
    }
    let Some((bus, port)) = text.split_once('-') else { return false };
    is_digits(bus) && port.split('.').all(is_digits)
}
