//! What an ext4's superblock says.

use std::fs::File;
use std::os::unix::fs::FileExt;

use anyhow::Result;

/// Where the superblock lies, and how much of it is read.
const SUPERBLOCK: (u64, usize) = (1024, 0x154);

/// The size of the file system that starts at an offset, if there is one.
pub(super) fn size(disk: &File, offset: u64) -> Result<Option<u64>> {
    let mut block = [0; SUPERBLOCK.1];
    if disk.read_exact_at(&mut block, offset + SUPERBLOCK.0).is_err() {
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
