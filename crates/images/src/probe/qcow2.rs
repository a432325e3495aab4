//! The header of a qcow2 image, as QEMU's `docs/interop/qcow2.rst` has it.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::{Format, Probe, big};

/// A header with its extensions is within the first cluster; the smallest one has 512 bytes.
const HEADER: u64 = 64 << 10;
/// The name of a data file.
const DATA_FILE: u64 = 0x4441_5441;
/// Bits of features that a reader has to know.
const CORRUPT: u64 = 1 << 1;
const EXTERNAL: u64 = 1 << 2;
const KNOWN: u64 = 0b1_1111;

pub(super) fn look(mut file: &File, size: u64) -> io::Result<Probe> {
    file.seek(SeekFrom::Start(0))?;
    let mut head = Vec::new();
    file.take(HEADER).read_to_end(&mut head)?;
    let mut probe =
        Probe { format: Format::Qcow2, size, disk: Some(big(&head, 24, 8)), problems: vec![] };
    let mut problem = |text: String| probe.problems.push(text);
    let version = big(&head, 4, 4);
    if !(2..=3).contains(&version) || head.len() < 72 {
        problem(format!("it is a qcow2 of version {version}, and 2 and 3 are known"));
        return Ok(probe);
    }
    if big(&head, 8, 8) != 0 {
        problem(format!(
            "it has a backing file ('{}'): what it shows is read from another file of the machine \
             that it is opened on",
            text(&head, big(&head, 8, 8), big(&head, 16, 4))
        ));
    }
    let cluster_bits = big(&head, 20, 4);
    if !(9..=21).contains(&cluster_bits) {
        problem(format!("it has clusters of 2^{cluster_bits} bytes, which none has"));
    }
    if big(&head, 32, 4) != 0 {
        problem("it is encrypted, and nobody here has the key".to_owned());
    }
    let table_end = big(&head, 40, 8).saturating_add(big(&head, 36, 4).saturating_mul(8));
    if table_end > size {
        problem(format!("it is cut off: it has {size} bytes, and its table ends at {table_end}"));
    }
    let mut extensions = 72;
    if version == 3 {
        let features = big(&head, 72, 8);
        if features & EXTERNAL != 0 {
            problem(
                "it has its data in another file, of the machine that it is opened on".to_owned(),
            );
        }
        if features & CORRUPT != 0 {
            problem("it is marked as damaged".to_owned());
        }
        if features & !KNOWN != 0 {
            problem(format!("it has features that are not known: {:#x}", features & !KNOWN));
        }
        extensions = big(&head, 100, 4);
    }
    let mut at = usize::try_from(extensions).unwrap_or(usize::MAX);
    while let Some(kind) = head.get(at..at.saturating_add(8)).map(|_| big(&head, at, 4)) {
        if kind == 0 {
            break;
        }
        let length = big(&head, at + 4, 4);
        if kind == DATA_FILE && version == 3 && big(&head, 72, 8) & EXTERNAL == 0 {
            problem(format!("it names a data file ('{}')", text(&head, at as u64 + 8, length)));
        }
        let step = usize::try_from(length.next_multiple_of(8)).unwrap_or(usize::MAX);
        at = at.saturating_add(8).saturating_add(step);
    }
    Ok(probe)
}

/// Text at a place, made fit to be shown.
fn text(head: &[u8], at: u64, length: u64) -> String {
    let at = usize::try_from(at).unwrap_or(usize::MAX);
    let length = usize::try_from(length).unwrap_or_default().min(200);
    let bytes = head.get(at..at.saturating_add(length)).unwrap_or_default();
    let text = String::from_utf8_lossy(bytes);
    text.chars().map(|c| if c.is_control() { '?' } else { c }).collect()
}
