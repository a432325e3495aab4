//! A guest's disk as a file: what file system is on it, and its growth.
//!
//! A guest cannot grow its own root here (the kernel wants CAP_SYS_RESOURCE for that), so the lab
//! does what cloud-init's growpart and resizefs do on a real VM, before each boot.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;

use anyhow::{Context, Result, bail};

use super::host;

/// The first bytes of ext4's superblock, and where it lies.
const SUPERBLOCK: (u64, usize) = (1024, 0x154);

/// The size of the ext4 file system that starts at the beginning of a disk, if there is one.
pub(crate) fn ext4_size(disk: &Path) -> Result<Option<u64>> {
    let file = File::open(disk).with_context(|| format!("cannot open {}", disk.display()))?;
    let mut block = [0; SUPERBLOCK.1];
    if file.read_exact_at(&mut block, SUPERBLOCK.0).is_err() {
        // Too small to hold one.
        return Ok(None);
    }
    Ok(size_in(&block))
}

fn size_in(block: &[u8; SUPERBLOCK.1]) -> Option<u64> {
    let u32_at = |at: usize| {
        block[at..at + 4].iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    let has_magic = block[0x38] == 0x53 && block[0x39] == 0xef;
    let block_size = 1024u64.checked_shl(u32::try_from(u32_at(0x18)).ok()?)?;
    // With the feature `64bit` the count has an upper half.
    let high = if u32_at(0x60) & 0x80 != 0 { u32_at(0x150) } else { 0 };
    has_magic.then(|| (high << 32 | u32_at(0x04)).checked_mul(block_size))?
}

/// Grows the file system to the size of its disk.
pub(crate) fn grow(disk: &Path) -> Result<()> {
    let Some(size) = ext4_size(disk)? else {
        return Ok(());
    };
    let whole = std::fs::metadata(disk)?.len();
    if size >= whole / 4096 * 4096 {
        return Ok(());
    }
    let mut check = host::command("e2fsck");
    check.args(["-f", "-p"]).arg(disk);
    let (status, _, stderr) = host::output(&mut check)?;
    // 1: what was wrong has been repaired.
    if !matches!(status, Some(0 | 1)) {
        bail!("{}", host::failure(&check, status, &stderr));
    }
    host::finish(host::command("resize2fs").arg(disk))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_size_of_a_file_system() {
        let mut block = [0; SUPERBLOCK.1];
        block[0x04..0x08].copy_from_slice(&786_432u32.to_le_bytes());
        block[0x18..0x1c].copy_from_slice(&2u32.to_le_bytes());
        assert_eq!(size_in(&block), None, "without the magic number");
        block[0x38..0x3a].copy_from_slice(&0xef53u16.to_le_bytes());
        assert_eq!(size_in(&block), Some(3 << 30));
        block[0x150] = 1;
        assert_eq!(size_in(&block), Some(3 << 30), "the upper half is not in use");
        block[0x60] = 0x80;
        assert_eq!(size_in(&block), Some((1 << 44) + (3 << 30)));
    }
}
