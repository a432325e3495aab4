//! A VMDK image: a sparse one that has all in it, or a description that names other files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use super::{Format, Probe, little};

const SECTOR: u64 = 512;
/// A description has a few lines.
const LONGEST: u64 = 20;

pub(super) fn look(file: &File, size: u64) -> io::Result<Probe> {
    let mut probe = Probe { format: Format::Vmdk, size, disk: None, problems: vec![] };
    let mut head = vec![0; usize::try_from(SECTOR.min(size)).unwrap_or_default()];
    file.read_exact_at(&mut head, 0)?;
    if !head.starts_with(b"KDMV") {
        let problem = "it is a description of a disk whose data is in other files";
        return Ok(probe.but(problem));
    }
    probe.disk = little(&head, 12, 8).checked_mul(SECTOR);
    let (at, sectors) = (little(&head, 28, 8), little(&head, 36, 8));
    let end = at.saturating_add(sectors).saturating_mul(SECTOR);
    if end > size {
        return Ok(probe.but("it is cut off: its description is behind its end"));
    }
    let length = sectors.min(LONGEST) * SECTOR;
    let mut description = vec![0; usize::try_from(length).unwrap_or_default()];
    file.read_exact_at(&mut description, at * SECTOR)?;
    let description = String::from_utf8_lossy(&description);
    let mut extents = 0;
    for line in description.trim_end_matches('\0').lines().map(str::trim) {
        if let Some(parent) = line.strip_prefix("parentCID=") {
            if !parent.eq_ignore_ascii_case("ffffffff") {
                probe = probe.but("it has a parent: what it shows is read from another file");
            }
        } else if let Some(kind) = line.strip_prefix("createType=") {
            let kind = kind.trim_matches('"');
            if !["monolithicSparse", "streamOptimized"].contains(&kind) {
                probe = probe.but("its data is in other files");
            }
        } else if ["RW ", "RDONLY ", "NOACCESS "].iter().any(|word| line.starts_with(word)) {
            extents += 1;
        }
    }
    Ok(if extents > 1 { probe.but("its data is in several files") } else { probe })
}
