use std::io::Write;

use images::{Probe, Sums};

/// A file of checksums: what is found under a name is written in the text beside it.
pub fn checksums(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let Ok(sums) = Sums::read(text) else { return };
    for name in text.split(|c: char| c.is_whitespace() || "()*=".contains(c)) {
        let Some(checksum) = sums.of(name) else { continue };
        let beside = text
            .lines()
            .any(|line| line.contains(name) && line.to_ascii_lowercase().contains(checksum.hex()));
        assert!(beside, "{name:?} has {} nowhere", checksum.hex());
    }
}

/// A file that is said to be an image: its kind is told or its faults are, and it is read no further
/// than it reaches.
pub fn image(data: &[u8]) {
    let mut file = tempfile::tempfile().expect("a file");
    file.write_all(data).expect("its content");
    let probe = Probe::of(&file).expect("a file that can be read");
    assert_eq!(probe.size, data.len() as u64);
    for name in ["x.qcow2", "x.raw", "x.img", "x.iso", "x.vmdk", "x.ova", "x"] {
        let _ = probe.contradicts(name);
    }
}
