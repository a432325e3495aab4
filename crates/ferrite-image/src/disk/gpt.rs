//! Partition tables as upstream's cloud images have them: GPT, read, written and stretched here,
//! because neither sfdisk nor a kernel that reads partitions is everywhere.

use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest, Sha256};

/// The size of a sector.
pub const SECTOR: u64 = 512;

/// Where partitions begin and end: at whole mebibytes.
const ALIGN: u64 = 2048;
const SIGNATURE: &[u8; 8] = b"EFI PART";
const HEADER: usize = 92;
const ENTRY: usize = 128;
const ENTRIES: usize = 128;
/// The sectors that the entries take.
const TABLE: u64 = (ENTRY * ENTRIES) as u64 / SECTOR;

/// The types that a root has, on the machines that PVE runs on.
const ROOTS: [&str; 2] =
    ["4F68BCE3-E8CD-4DB1-96E7-FBCAF984B709", "B921B045-1DF0-41C3-AF44-4C6F280D3FAE"];
const LINUX: &str = "0FC63DAF-8483-4772-8E79-3D69D8477DE4";
const BIOS_BOOT: &str = "21686148-6449-6E6F-744E-656564454649";
const ESP: &str = "C12A7328-F81F-11D2-BA4B-00A0C93EC93B";
/// What upstream's images call their root.
const LABELS: [&str; 2] = ["cloudimg-rootfs", "root"];

/// One partition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Partition {
    /// Its number, from 1.
    pub number: usize,
    /// Its first sector.
    pub first: u64,
    /// Its last sector.
    pub last: u64,
    kind: [u8; 16],
    label: String,
}

impl Partition {
    fn sectors(&self) -> u64 {
        self.last - self.first + 1
    }
}

/// The table of a disk.
#[derive(Debug, Clone)]
pub struct Table {
    guid: [u8; 16],
    entries: Vec<u8>,
}

/// Reads the table of a disk, if it has one.
///
/// # Errors
/// When the disk cannot be read or the table is damaged.
pub fn read(disk: &File) -> Result<Option<Table>> {
    let mut header = [0; HEADER];
    if disk.read_exact_at(&mut header, SECTOR).is_err() || &header[..8] != SIGNATURE {
        return Ok(None);
    }
    let mut unsummed = header;
    unsummed[16..20].fill(0);
    ensure!(crc32(&unsummed) == u32_at(&header, 16), "the partition table is damaged");
    let (count, size) = (u32_at(&header, 80), u32_at(&header, 84));
    if count as usize > ENTRIES || size as usize != ENTRY {
        bail!("the partition table has {count} entries of {size} bytes, which is not supported");
    }
    let mut entries = vec![0; count as usize * ENTRY];
    let at = u64_at(&header, 72).checked_mul(SECTOR).context("the partition table is damaged")?;
    disk.read_exact_at(&mut entries, at).context("the partition table is cut off")?;
    ensure!(crc32(&entries) == u32_at(&header, 88), "the list of partitions is damaged");
    entries.resize(ENTRIES * ENTRY, 0);
    let mut guid = [0; 16];
    guid.copy_from_slice(&header[56..72]);
    Ok(Some(Table { guid, entries }))
}

impl Table {
    /// A table as upstream's: the root is the first partition, and behind it in the table, but
    /// before it on the disk, those that firmware boots from.
    #[must_use]
    pub fn upstream(name: &str, size: u64) -> Self {
        let mut table = Self { guid: derived(name, 0), entries: vec![0; ENTRIES * ENTRY] };
        let last = last_usable(size);
        let rows: [(usize, &str, u64, u64, &str); 3] = [
            (1, ROOTS[0], 262_144, last, LABELS[0]),
            (14, BIOS_BOOT, 2048, 8191, ""),
            (15, ESP, 8192, 262_143, ""),
        ];
        for (number, kind, first, last, label) in rows {
            let entry = table.entry(number);
            entry[..16].copy_from_slice(&guid(kind));
            entry[16..32].copy_from_slice(&derived(name, number));
            entry[32..40].copy_from_slice(&first.to_le_bytes());
            entry[40..48].copy_from_slice(&last.to_le_bytes());
            for (at, unit) in label.encode_utf16().enumerate() {
                entry[56 + 2 * at..58 + 2 * at].copy_from_slice(&unit.to_le_bytes());
            }
        }
        table
    }

    fn entry(&mut self, number: usize) -> &mut [u8] {
        &mut self.entries[(number - 1) * ENTRY..number * ENTRY]
    }

    /// The partitions, by number.
    #[must_use]
    pub fn partitions(&self) -> Vec<Partition> {
        let entries = self.entries.chunks_exact(ENTRY).enumerate();
        entries
            .filter(|(_, entry)| entry[..16] != [0; 16])
            .map(|(at, entry)| Partition {
                number: at + 1,
                first: u64_at(entry, 32),
                last: u64_at(entry, 40),
                kind: kind_of(entry),
                label: label_of(entry),
            })
            .filter(|partition| partition.first <= partition.last)
            .collect()
    }

    /// The root: the partition whose type says so, else the one whose label does, else the largest
    /// that is Linux's.
    #[must_use]
    pub fn root(&self) -> Option<Partition> {
        let all = self.partitions();
        let typed = |partition: &&Partition| ROOTS.iter().any(|kind| partition.kind == guid(kind));
        let labelled = |partition: &&Partition| LABELS.contains(&partition.label.as_str());
        let largest = || {
            let linux = all.iter().filter(|partition| partition.kind == guid(LINUX));
            linux.max_by_key(|partition| partition.sectors())
        };
        all.iter().find(typed).or_else(|| all.iter().find(labelled)).or_else(largest).cloned()
    }

    /// Stretches the root to the end of a disk of this size and says whether it could: another
    /// partition may lie behind it.
    pub fn stretch(&mut self, size: u64) -> bool {
        let Some(root) = self.root() else { return false };
        let last = last_usable(size);
        if last <= root.last || self.partitions().iter().any(|other| other.first > root.last) {
            return false;
        }
        self.entry(root.number)[40..48].copy_from_slice(&last.to_le_bytes());
        true
    }

    /// Writes the table to both ends of a disk.
    ///
    /// # Errors
    /// When the disk cannot be written, or is too small for its partitions.
    pub fn write(&self, disk: &File) -> Result<()> {
        let sectors = disk.metadata()?.len() / SECTOR;
        let end = self.partitions().iter().map(|partition| partition.last).max().unwrap_or(0);
        if sectors < 2 * (TABLE + 2) || end > sectors - TABLE - 2 {
            bail!("a disk of {sectors} sectors is too small for its partitions");
        }
        let (own, other) = (1, sectors - 1);
        let mut protective = [0; 66];
        // one partition over all, of the type that tells others to keep off
        protective[2] = 2;
        protective[4..8].copy_from_slice(&[0xee, 0xff, 0xff, 0xff]);
        protective[8] = 1;
        let covered = u32::try_from(sectors - 1).unwrap_or(u32::MAX);
        protective[12..16].copy_from_slice(&covered.to_le_bytes());
        protective[64..].copy_from_slice(&[0x55, 0xaa]);
        disk.write_all_at(&protective, 446)?;
        disk.write_all_at(&self.entries, 2 * SECTOR)?;
        disk.write_all_at(&self.entries, (other - TABLE) * SECTOR)?;
        disk.write_all_at(&self.header(own, other, 2, sectors), own * SECTOR)?;
        disk.write_all_at(&self.header(other, own, other - TABLE, sectors), other * SECTOR)?;
        Ok(())
    }

    fn header(&self, own: u64, other: u64, entries: u64, sectors: u64) -> [u8; HEADER] {
        let mut header = [0; HEADER];
        header[..8].copy_from_slice(SIGNATURE);
        header[8..12].copy_from_slice(&0x0001_0000_u32.to_le_bytes());
        header[12..16].copy_from_slice(&(HEADER as u32).to_le_bytes());
        for (at, value) in
            [(24, own), (32, other), (40, TABLE + 2), (48, sectors - TABLE - 2), (72, entries)]
        {
            header[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        header[56..72].copy_from_slice(&self.guid);
        for (at, value) in [(80, ENTRIES as u32), (84, ENTRY as u32), (88, crc32(&self.entries))] {
            header[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        let sum = crc32(&header);
        header[16..20].copy_from_slice(&sum.to_le_bytes());
        header
    }
}

/// The last sector that a partition may have, at the end of a whole mebibyte.
fn last_usable(size: u64) -> u64 {
    ((size / SECTOR).saturating_sub(TABLE + 1) / ALIGN * ALIGN).saturating_sub(1)
}

fn kind_of(entry: &[u8]) -> [u8; 16] {
    let mut kind = [0; 16];
    kind.copy_from_slice(&entry[..16]);
    kind
}

fn label_of(entry: &[u8]) -> String {
    let units = entry[56..ENTRY].chunks_exact(2).map(|unit| u16::from_le_bytes([unit[0], unit[1]]));
    char::decode_utf16(units.take_while(|unit| *unit != 0)).map(|c| c.unwrap_or('?')).collect()
}

/// A GUID as disks have it: the first three groups are little-endian.
fn guid(text: &str) -> [u8; 16] {
    let digits: Vec<u8> =
        text.bytes().filter_map(|c| char::from(c).to_digit(16)).map(|d| d as u8).collect();
    let mut bytes = [0; 16];
    for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
        *byte = pair[0] << 4 | pair[1];
    }
    bytes[..4].reverse();
    bytes[4..6].reverse();
    bytes[6..8].reverse();
    bytes
}

/// A GUID that is the same in each build of an image.
fn derived(name: &str, number: usize) -> [u8; 16] {
    let sum = Sha256::new().chain_update(number.to_le_bytes()).chain_update(name).finalize();
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&sum[..16]);
    // version 8: bytes of one's own
    bytes[7] = bytes[7] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
        })
    };
    !bytes.iter().fold(u32::MAX, step)
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes[at..at + 4].iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn disk(size: u64) -> File {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size).unwrap();
        file
    }

    #[test]
    fn what_is_written_is_read_again_and_grows_with_its_disk() {
        let file = disk(1 << 30);
        assert!(read(&file).unwrap().is_none(), "an empty disk has no table");
        Table::upstream("x", 1 << 30).write(&file).unwrap();
        let mut table = read(&file).unwrap().unwrap();
        let root = table.root().unwrap();
        assert_eq!((root.number, root.first, root.last), (1, 262_144, (1 << 21) - 2049));
        assert_eq!(table.partitions().len(), 3);
        assert!(!table.stretch(1 << 30), "it is as large as can be");

        file.set_len(3 << 30).unwrap();
        assert!(table.stretch(3 << 30));
        table.write(&file).unwrap();
        let root = read(&file).unwrap().unwrap().root().unwrap();
        assert_eq!(root.last, 3 * (1 << 21) - 2049);
    }

    #[test]
    fn the_root_is_found_as_upstream_marks_it() {
        let with = |rows: &[(usize, &str, u64, u64, &str)]| {
            let mut table = Table { guid: [0; 16], entries: vec![0; ENTRIES * ENTRY] };
            for (number, kind, first, last, label) in rows {
                let entry = table.entry(*number);
                entry[..16].copy_from_slice(&guid(kind));
                entry[32..40].copy_from_slice(&first.to_le_bytes());
                entry[40..48].copy_from_slice(&last.to_le_bytes());
                for (at, unit) in label.encode_utf16().enumerate() {
                    entry[56 + 2 * at..58 + 2 * at].copy_from_slice(&unit.to_le_bytes());
                }
            }
            table
        };
        let rows = [
            ("its type", with(&[(1, LINUX, 9000, 99_000, ""), (2, ROOTS[0], 10, 90, "")]), Some(2)),
            (
                "its label",
                with(&[(1, LINUX, 10, 90, "cloudimg-rootfs"), (16, LINUX, 100, 9000, "boot")]),
                Some(1),
            ),
            ("its size", with(&[(1, LINUX, 10, 90, ""), (2, LINUX, 100, 9000, "")]), Some(2)),
            ("none", with(&[(15, ESP, 10, 90, "")]), None),
        ];
        for (name, table, expected) in rows {
            assert_eq!(table.root().map(|root| root.number), expected, "{name}");
        }
        let mut behind = with(&[(1, ROOTS[0], 10, 90, ""), (2, LINUX, 100, 9000, "")]);
        assert!(!behind.stretch(1 << 30), "a partition lies behind the root");
    }

    #[test]
    fn damage_is_told() {
        let file = disk(1 << 30);
        Table::upstream("x", 1 << 30).write(&file).unwrap();
        for (at, said) in [
            (SECTOR + 60, "the partition table is damaged"),
            (2 * SECTOR + 33, "the list of partitions is damaged"),
        ] {
            let mut byte = [0];
            file.read_exact_at(&mut byte, at).unwrap();
            file.write_all_at(&[!byte[0]], at).unwrap();
            assert_eq!(read(&file).unwrap_err().to_string(), said);
            file.write_all_at(&byte, at).unwrap();
        }
        assert!(read(&file).unwrap().is_some());
        let small = disk(100 << 20);
        let said = Table::upstream("x", 1 << 30).write(&small).unwrap_err().to_string();
        assert_eq!(said, "a disk of 204800 sectors is too small for its partitions");
    }

    #[test]
    fn guids_and_sums_are_as_others_write_them() {
        assert_eq!(&guid(BIOS_BOOT), b"Hah!IdontNeedEFI");
        assert_eq!(crc32(b"123456789"), 0xcbf4_3926);
        assert_eq!(derived("x", 1), derived("x", 1));
        assert_ne!(derived("x", 1), derived("x", 2));
    }
}
