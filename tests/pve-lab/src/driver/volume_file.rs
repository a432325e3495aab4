//! Volumes as files: headers that say the right size, and nothing in them.

use std::fs;
use std::io::{Read, Write};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::{VolumeFormat, VolumeInfo};

/// A qcow2 header of version 3 with nothing allocated: enough for every reader of sizes.
fn write_qcow2(path: &Path, size: u64) -> std::io::Result<()> {
    const CLUSTER_BITS: u32 = 16;
    let l1_size = u32::try_from(size.div_ceil(1 << 29)).unwrap_or(1).max(1);
    let mut header = Vec::with_capacity(104);
    header.extend_from_slice(b"QFI\xfb");
    for word in [3_u32, 0, 0, 0, CLUSTER_BITS] {
        header.extend_from_slice(&word.to_be_bytes());
    }
    header.extend_from_slice(&size.to_be_bytes());
    for word in [0_u32, l1_size] {
        header.extend_from_slice(&word.to_be_bytes());
    }
    for offset in [3_u64 << 16, 1 << 16] {
        header.extend_from_slice(&offset.to_be_bytes());
    }
    for word in [1_u32, 0] {
        header.extend_from_slice(&word.to_be_bytes());
    }
    header.extend_from_slice(&[0; 32]);
    for word in [4_u32, 104] {
        header.extend_from_slice(&word.to_be_bytes());
    }
    let mut file = fs::File::create(path)?;
    file.write_all(&header)?;
    // header, refcount table, refcount block, L1 table
    file.set_len(4 << 16)
}

pub(super) fn read_info(path: &Path) -> std::io::Result<VolumeInfo> {
    let mut file = fs::File::open(path)?;
    let meta = file.metadata()?;
    let mut head = [0_u8; 32];
    let mut got = 0;
    while got < head.len() {
        match file.read(&mut head[got..])? {
            0 => break,
            n => got += n,
        }
    }
    let used = meta.blocks() * 512;
    if got == head.len() && head.starts_with(b"QFI\xfb") {
        let mut size = [0_u8; 8];
        size.copy_from_slice(&head[24..32]);
        let virtual_size = u64::from_be_bytes(size);
        return Ok(VolumeInfo { format: VolumeFormat::Qcow2, virtual_size, used });
    }
    let format = match VolumeFormat::of_path(path) {
        VolumeFormat::Vmdk => VolumeFormat::Vmdk,
        _ => VolumeFormat::Raw,
    };
    Ok(VolumeInfo { format, virtual_size: meta.len(), used })
}

pub(super) fn make(path: &Path, format: VolumeFormat, size: u64) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match format {
        VolumeFormat::Qcow2 => write_qcow2(path, size),
        VolumeFormat::Raw | VolumeFormat::Vmdk => fs::File::create(path)?.set_len(size),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{GuestDriver, StateOnly};
    use super::*;

    #[test]
    fn volumes_keep_their_size_in_either_format() {
        let dir = tempfile::tempdir().unwrap();
        let driver = StateOnly::new();
        for (name, format) in [("a.raw", VolumeFormat::Raw), ("a.qcow2", VolumeFormat::Qcow2)] {
            let path = dir.path().join(name);
            driver.create_volume(&path, format, 64 << 20).unwrap();
            let info = driver.volume_info(&path).unwrap();
            assert_eq!((info.format, info.virtual_size), (format, 64 << 20), "{name}");
            driver.resize_volume(None, &path, format, 128 << 20).unwrap();
            assert_eq!(driver.volume_info(&path).unwrap().virtual_size, 128 << 20, "{name}");
        }
    }
}
