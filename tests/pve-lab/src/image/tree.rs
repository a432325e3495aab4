//! What is mounted in a tree: such a tree belongs to somebody else as well.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// The places at and below a path where something is mounted, the innermost first.
pub(super) fn mounts(path: &Path) -> Result<Vec<PathBuf>> {
    let table = fs::read_to_string("/proc/self/mountinfo").context("cannot read the mounts")?;
    Ok(below(&table, path))
}

fn below(mountinfo: &str, path: &Path) -> Vec<PathBuf> {
    let places = mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(unescaped);
    let mut found: Vec<PathBuf> = places.filter(|place| place.starts_with(path)).collect();
    found.reverse();
    found
}

/// The kernel writes blanks and backslashes as three octal digits.
fn unescaped(word: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..3).and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        match byte.filter(|_| *first == b'\\') {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(std::ffi::OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use nix::mount::{MntFlags, umount2};

    use super::*;
    use crate::image::cache;

    #[test]
    fn mounts_below_a_path_are_found_innermost_first() {
        let table = "1 0 8:1 / / rw - ext4 d rw\n2 1 0:5 / /c/x.tree/proc rw - proc p rw\n\
                     3 2 0:6 / /c/x.tree/proc/a\\040b rw - proc p rw\n\
                     4 1 0:5 / /c/x.tree2 rw - proc p rw\n";
        assert_eq!(
            below(table, Path::new("/c/x.tree")),
            [PathBuf::from("/c/x.tree/proc/a b"), PathBuf::from("/c/x.tree/proc")]
        );
    }

    #[test]
    fn a_removal_does_not_cross_a_mount() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("x"), folder.path().join("other"));
        fs::create_dir_all(tree.join("proc")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(tree.join("file"), "").unwrap();
        fs::write(other.join("kept"), "").unwrap();
        let bind = Command::new("mount").arg("--bind").arg(&other).arg(tree.join("proc")).status();
        assert!(bind.unwrap().success());

        let refused = cache::remove(&tree).unwrap_err().to_string();
        umount2(&tree.join("proc"), MntFlags::empty()).unwrap();
        assert_eq!(
            refused,
            format!("cannot remove {}: {} is mounted", tree.display(), tree.join("proc").display())
        );
        assert!(tree.join("file").exists() && other.join("kept").exists());
        cache::remove(&tree).unwrap();
        assert!(!tree.exists() && other.join("kept").exists());
    }
}
