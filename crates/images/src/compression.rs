//! How a file is compressed: told by its name, or by its first bytes.

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compression {
    /// With xz.
    Xz,
    /// With Zstandard.
    Zst,
    /// With gzip.
    Gz,
    /// With bzip2.
    Bz2,
}

/// The endings of names; the first one of each is the usual one.
const ENDINGS: [(&str, Compression); 5] = [
    ("xz", Compression::Xz),
    ("zst", Compression::Zst),
    ("zstd", Compression::Zst),
    ("gz", Compression::Gz),
    ("bz2", Compression::Bz2),
];

/// How files begin.
const MAGIC: [(&[u8], Compression); 4] = [
    (b"\xfd7zXZ\0", Compression::Xz),
    (b"\x28\xb5\x2f\xfd", Compression::Zst),
    (b"\x1f\x8b\x08", Compression::Gz),
    (b"BZh", Compression::Bz2),
];

impl Compression {
    /// Its usual ending: `xz`.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Xz => "xz",
            Self::Zst => "zst",
            Self::Gz => "gz",
            Self::Bz2 => "bz2",
        }
    }

    /// What a name says, and the name without it.
    #[must_use]
    pub fn of_name(name: &str) -> Option<(&str, Self)> {
        let (stem, ending) = name.rsplit_once('.')?;
        let (_, found) = ENDINGS.into_iter().find(|(known, _)| *known == ending)?;
        (!stem.is_empty()).then_some((stem, found))
    }

    /// What the first bytes of a file say.
    #[must_use]
    pub fn of_magic(bytes: &[u8]) -> Option<Self> {
        MAGIC.into_iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, found)| found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_first_bytes_tell() {
        for (name, found) in [
            ("x.raw.xz", Some(("x.raw", Compression::Xz))),
            ("x.zst", Some(("x", Compression::Zst))),
            ("x.raw.zstd", Some(("x.raw", Compression::Zst))),
            ("x.tar.gz", Some(("x.tar", Compression::Gz))),
            ("x.bz2", Some(("x", Compression::Bz2))),
            ("x.raw", None),
            (".xz", None),
            ("xz", None),
        ] {
            assert_eq!(Compression::of_name(name), found, "{name}");
        }
        for (bytes, found) in [
            (&b"\xfd7zXZ\0\0\x04"[..], Some(Compression::Xz)),
            (b"\x28\xb5\x2f\xfd\0", Some(Compression::Zst)),
            (b"\x1f\x8b\x08\0", Some(Compression::Gz)),
            (b"BZh9", Some(Compression::Bz2)),
            (b"QFI\xfb", None),
            (b"\x1f", None),
            (b"", None),
        ] {
            assert_eq!(Compression::of_magic(bytes), found, "{bytes:?}");
        }
        assert_eq!(Compression::of_name("x.gz").unwrap().1.word(), "gz");
    }
}
