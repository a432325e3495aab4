//! Which keys the drives of each bus take.

use super::Disk;
use super::grammar::Grammar;
use super::limit::{Limit, has_hex};

/// The value sets of drives.
const CHOICES: &[(&str, &[&str])] = &[
    ("aio", &["native", "threads", "io_uring"]),
    ("cache", &["none", "writethrough", "writeback", "unsafe", "directsync"]),
    ("discard", &["ignore", "on"]),
    ("efitype", &["2m", "4m"]),
    ("format", &["raw", "qcow", "qed", "qcow2", "vmdk", "cloop"]),
    ("media", &["disk", "cdrom"]),
    ("rerror", &["ignore", "report", "stop"]),
    ("trans", &["none", "lba", "auto"]),
    ("version", &["v1.2", "v2.0"]),
    ("werror", &["enospc", "ignore", "report", "stop"]),
];

/// What else is limited. PVE's rates are numbers; the lengths of bursts are seconds.
const LIMITS: &[(&str, Limit)] = &[
    ("bps", Limit::ANY),
    ("bps_rd", Limit::ANY),
    ("bps_wr", Limit::ANY),
    ("iops", Limit::ANY),
    ("iops_max", Limit::ANY),
    ("iops_rd", Limit::ANY),
    ("iops_rd_max", Limit::ANY),
    ("iops_wr", Limit::ANY),
    ("iops_wr_max", Limit::ANY),
    ("mbps", Limit::ANY),
    ("mbps_max", Limit::ANY),
    ("mbps_rd", Limit::ANY),
    ("mbps_rd_max", Limit::ANY),
    ("mbps_wr", Limit::ANY),
    ("mbps_wr_max", Limit::ANY),
    ("bps_max_length", Limit::Whole(1, u64::MAX)),
    ("bps_rd_max_length", Limit::Whole(1, u64::MAX)),
    ("bps_wr_max_length", Limit::Whole(1, u64::MAX)),
    ("iops_max_length", Limit::Whole(1, u64::MAX)),
    ("iops_rd_max_length", Limit::Whole(1, u64::MAX)),
    ("iops_wr_max_length", Limit::Whole(1, u64::MAX)),
    (
        "product",
        Limit::Form(|text| is_label(text, 16), "at most 16 letters, digits, blanks, - and _"),
    ),
    ("queues", Limit::Whole(2, u64::MAX)),
    ("model", Limit::Form(|text| is_encoded(text, 120), ENCODED)),
    ("serial", Limit::Form(|text| is_encoded(text, 60), ENCODED)),
    ("vendor", Limit::Form(|text| is_label(text, 8), "at most 8 letters, digits, blanks, - and _")),
    ("wwn", Limit::Form(is_wwn, "0x and sixteen hexadecimal digits")),
];

const ENCODED: &str =
    "letters, digits and -_.!~*'(), any other character percent-encoded as %20 is";

/// PVE's format `urlencoded`.
fn is_encoded(text: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"%-_.!~*'()".contains(&byte);
    text.len() <= most && text.bytes().all(plain)
}

fn is_label(text: &str, most: usize) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_ ".contains(&byte);
    text.len() <= most && text.bytes().all(plain)
}

fn is_wwn(text: &str) -> bool {
    text.strip_prefix("0x").is_some_and(|digits| has_hex(digits, 16))
}

/// A drive's grammar with the keys of one bus: those that all have, and its own.
macro_rules! bus {
    ($($own:literal),* $(,)?) => {
        &Grammar {
            keys: &[
                $($own,)*
                "file", "import-from", "size", "format", "media", "cache", "discard", "aio",
                "backup", "replicate", "shared", "snapshot", "detect_zeroes", "serial", "rerror",
                "werror", "mbps", "mbps_max", "mbps_rd", "mbps_rd_max", "mbps_wr", "mbps_wr_max",
                "iops", "iops_max", "iops_max_length", "iops_rd", "iops_rd_max",
                "iops_rd_max_length", "iops_wr", "iops_wr_max", "iops_wr_max_length", "bps",
                "bps_max_length", "bps_rd", "bps_rd_max_length", "bps_wr", "bps_wr_max_length",
                "cyls", "heads", "secs", "trans",
            ],
            choices: CHOICES,
            limits: LIMITS,
            ..Self::ANY
        }
    };
}

impl Disk {
    /// `ideN`.
    pub const IDE: &'static Grammar = bus!["model", "ssd", "wwn"];
    /// `sataN`.
    pub const SATA: &'static Grammar = bus!["ssd", "wwn"];
    /// `scsiN`.
    pub const SCSI: &'static Grammar =
        bus!["iothread", "product", "queues", "ro", "scsiblock", "ssd", "vendor", "wwn"];
    /// `virtioN`.
    pub const VIRTIO: &'static Grammar = bus!["iothread", "ro"];
    /// `efidisk0`.
    pub const EFI: &'static Grammar = &Grammar {
        keys: &["file", "import-from", "size", "format", "efitype", "ms-cert", "pre-enrolled-keys"],
        choices: CHOICES,
        ..Self::ANY
    };
    /// `tpmstate0`.
    pub const TPM: &'static Grammar = &Grammar {
        keys: &["file", "import-from", "size", "format", "version"],
        choices: CHOICES,
        ..Self::ANY
    };
    /// `unusedN`.
    pub const UNUSED: &'static Grammar = &Grammar { keys: &["file"], ..Self::ANY };
}
