//! A disk as it is: its partition table, and whether all of it is there.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::{Format, Partitions, Probe, little};

/// Where a GUID partition table begins, for sectors of 512 and of 4096 bytes.
const SECTORS: [u64; 2] = [512, 4096];

pub(super) fn look(mut file: &File, size: u64) -> io::Result<Probe> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    file.take(8 << 10).read_to_end(&mut head)?;
    let probe = |partitions| Probe {
        format: Format::Raw(partitions),
        size,
        disk: Some(size),
        problems: Vec::new(),
    };
    for sector in SECTORS {
        let at = usize::try_from(sector).unwrap_or(usize::MAX);
        if head.get(at..at + 8) == Some(b"EFI PART") {
            let end = little(&head, at + 32, 8).saturating_add(1).saturating_mul(sector);
            let probe = probe(Partitions::Gpt);
            return Ok(cut_off(probe, end));
        }
    }
    if head.get(510..512) != Some(&[0x55, 0xaa]) {
        return Ok(probe(Partitions::None));
    }
    let rows = (0..4).map(|row| 446 + 16 * row).filter(|at| head[at + 4] != 0);
    let ends = rows.map(|at| (little(&head, at + 8, 4) + little(&head, at + 12, 4)) * 512);
    let end = ends.max().unwrap_or_default();
    Ok(cut_off(probe(Partitions::Mbr), end))
}

fn cut_off(probe: Probe, end: u64) -> Probe {
    if end <= probe.size {
        return probe;
    }
    let problem = format!("it is cut off: it has {} bytes, and its disk has {end}", probe.size);
    probe.but(&problem)
}
