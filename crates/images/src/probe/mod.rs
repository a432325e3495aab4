//! What a file is, told by its bytes, and whether it may be used though a stranger made it.
//!
//! Nothing in the file is followed: an image can name other files (a backing file, a data file, the
//! extents of a disk), and a program that opens them by these names reads what the stranger chose
//! from the machine it runs on. Such an image is refused; so is one that is shorter than it says.

mod disk;
mod qcow2;
mod vmdk;

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::unix::fs::FileExt;

use crate::compression::Compression;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A qcow2 image.
    Qcow2,
    /// A VMDK image.
    Vmdk,
    /// An OVA, which is an archive of a description and its disks.
    Ova,
    /// An installation medium.
    Iso,
    /// A disk as it is.
    Raw(Partitions),
    /// Something compressed.
    Compressed(Compression),
    /// A page for people, which servers send in place of a file.
    Page,
    /// An image that PVE takes no disks from.
    Foreign(&'static str),
    /// Nothing.
    Empty,
}

/// The partition table of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Partitions {
    /// A GUID partition table.
    Gpt,
    /// A master boot record.
    Mbr,
    /// None, which is a filesystem, or no disk at all.
    None,
}

impl Format {
    /// What it is, for people.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Qcow2 => "qcow2",
            Self::Vmdk => "vmdk",
            Self::Ova => "ova",
            Self::Iso => "iso",
            Self::Raw(Partitions::Gpt) => "raw, with a GUID partition table",
            Self::Raw(Partitions::Mbr) => "raw, with a master boot record",
            Self::Raw(Partitions::None) => "raw, without a partition table",
            Self::Compressed(Compression::Xz) => "compressed with xz",
            Self::Compressed(Compression::Zst) => "compressed with Zstandard",
            Self::Compressed(Compression::Gz) => "compressed with gzip",
            Self::Compressed(Compression::Bz2) => "compressed with bzip2",
            Self::Page => "a page of HTML",
            Self::Foreign(word) => word,
            Self::Empty => "empty",
        }
    }

    /// The endings of names that say this; any for what has none of its own.
    fn endings(self) -> &'static [&'static str] {
        match self {
            // what others call .img is raw or qcow2
            Self::Qcow2 => &["qcow2", "img"],
            Self::Vmdk => &["vmdk"],
            Self::Ova => &["ova"],
            Self::Iso => &["iso", "img"],
            Self::Raw(_) => &["raw", "img", "iso"],
            Self::Compressed(_) | Self::Page | Self::Foreign(_) | Self::Empty => &[],
        }
    }
}

/// What a file is and what is wrong with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Probe {
    /// What it is.
    pub format: Format,
    /// Its size.
    pub size: u64,
    /// The size of the disk in it, if that can be told.
    pub disk: Option<u64>,
    /// Why it is not to be used.
    pub problems: Vec<String>,
}

/// What is looked at first.
const HEAD: usize = 1 << 10;
/// Where an ISO 9660 says what it is.
const ISO_AT: u64 = 0x8001;

impl Probe {
    /// Looks at a file.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn of(file: &File) -> io::Result<Self> {
        let mut reader = file;
        let size = reader.seek(SeekFrom::End(0))?;
        reader.seek(SeekFrom::Start(0))?;
        let mut head = Vec::with_capacity(HEAD);
        reader.take(HEAD as u64).read_to_end(&mut head)?;
        let mut iso = [0; 5];
        let is_iso =
            size > ISO_AT + 5 && file.read_exact_at(&mut iso, ISO_AT).map(|()| &iso == b"CD001")?;
        let plain = |format| Self { format, size, disk: None, problems: Vec::new() };
        Ok(if head.is_empty() {
            plain(Format::Empty).but("it is empty")
        } else if head.starts_with(b"QFI\xfb") {
            qcow2::look(file, size)?
        } else if head.starts_with(b"KDMV") || head.starts_with(b"# Disk DescriptorFile") {
            vmdk::look(file, size)?
        } else if let Some(compression) = Compression::of_magic(&head) {
            plain(Format::Compressed(compression))
        } else if head.get(257..262) == Some(b"ustar") {
            ova(&head, plain(Format::Ova))
        } else if let Some(word) = foreign(&head) {
            plain(Format::Foreign(word)).but("PVE makes no disks from it")
        } else if is_page(&head) {
            plain(Format::Page).but("it is a page of HTML, as servers send in place of a file")
        } else if is_iso {
            plain(Format::Iso)
        } else {
            disk::look(file, size)?
        })
    }

    /// What a name says that the content is not.
    #[must_use]
    pub fn contradicts(&self, name: &str) -> Option<String> {
        let (_, ending) = name.rsplit_once('.')?;
        let known = ["qcow2", "img", "vmdk", "ova", "iso", "raw"];
        let told = match self.format {
            Format::Compressed(compression) => {
                let said = Compression::of_name(name).map(|(_, said)| said);
                said != Some(compression) && (said.is_some() || known.contains(&ending))
            }
            format => {
                Compression::of_name(name).is_some()
                    || (known.contains(&ending) && !format.endings().contains(&ending))
            }
        };
        told.then(|| format!("its name ends in .{ending}, and it is {}", self.format.word()))
    }

    fn but(mut self, problem: &str) -> Self {
        self.problems.push(problem.to_owned());
        self
    }
}

/// An archive begins with the description of the machine.
fn ova(head: &[u8], probe: Probe) -> Probe {
    let name = head.split(|byte| *byte == 0).next().unwrap_or_default();
    if name.ends_with(b".ovf") { probe } else { probe.but("it is an archive, and no OVA") }
}

fn foreign(head: &[u8]) -> Option<&'static str> {
    if head.starts_with(b"vhdxfile") {
        Some("vhdx")
    } else if head.starts_with(b"conectix") {
        Some("vhd")
    } else if head.get(64..68) == Some(&[0x7f, 0x10, 0xda, 0xbe]) {
        Some("vdi")
    } else if head.starts_with(b"QED\0") {
        Some("qed")
    } else {
        None
    }
}

fn is_page(head: &[u8]) -> bool {
    let text = head.trim_ascii_start();
    [&b"<!doctype html"[..], b"<html", b"<?xml"]
        .into_iter()
        .any(|start| text.get(..start.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(start)))
}

/// Numbers in the order of bytes that qcow2 has.
fn big(bytes: &[u8], at: usize, length: usize) -> u64 {
    let number = bytes.get(at..at + length).unwrap_or_default();
    number.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

/// Numbers in the other order.
fn little(bytes: &[u8], at: usize, length: usize) -> u64 {
    let number = bytes.get(at..at + length).unwrap_or_default();
    number.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
#[path = "tests.rs"]
mod tests;
