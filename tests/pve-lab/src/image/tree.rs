//! The tree that an image is built in, when its builder did not live to remove it.

use std::fs;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use nix::mount::{MntFlags, umount2};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// How long the kernel may take to end what is at work in a tree.
const KILL_LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

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

/// Ends what is at work in a tree, unmounts what is mounted there and removes it.
///
/// The caller holds the lock of the image's entry, so nobody has a right to be at it.
pub(super) fn clear(tree: &Path) -> Result<()> {
    if !tree.exists() {
        return Ok(());
    }
    let tree = tree.canonicalize()?;
    let end = Instant::now() + KILL_LIMIT;
    loop {
        let at_work = at_work(&tree);
        if at_work.is_empty() {
            break;
        }
        if Instant::now() > end {
            bail!("processes {at_work:?} are at work in {} and do not end", tree.display());
        }
        for pid in at_work {
            // It may have ended by itself.
            let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
        }
        std::thread::sleep(PAUSE);
    }
    for place in mounts(&tree)? {
        umount2(&place, MntFlags::MNT_DETACH)
            .with_context(|| format!("cannot unmount {}", place.display()))?;
    }
    super::cache::remove(&tree)
}

/// The processes whose root is in the tree, the builders of it, and their children.
fn at_work(tree: &Path) -> Vec<i32> {
    let mut found = Vec::new();
    let mut parents = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        let stat = fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        let mut after = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let state = after.next().unwrap_or("Z");
        if state == "Z" {
            continue;
        }
        parents.push((pid, after.next().and_then(|parent| parent.parse().ok()).unwrap_or(0)));
        let rooted = fs::read_link(entry.path().join("root")).is_ok_and(|r| r.starts_with(tree));
        let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
        let words: Vec<&[u8]> = line.split(|byte| *byte == 0).collect();

        let builds = words.contains(&tree.as_os_str().as_encoded_bytes())
            && words.iter().any(|word| word.ends_with(b"mmdebstrap"));
        if rooted || builds {
            found.push(pid);
        }
    }
    let mut at = 0;
    while at < found.len() {
        let of = found[at];
        let children = parents.iter().filter(|(_, parent)| *parent == of).map(|(pid, _)| *pid);
        let new: Vec<i32> = children.filter(|pid| !found.contains(pid)).collect();
        found.extend(new);
        at += 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

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
    fn a_tree_left_by_a_killed_build_is_freed_before_it_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (tree, other) = (folder.path().join("x.tree"), folder.path().join("other"));
        fs::create_dir_all(tree.join("proc")).unwrap();
        fs::create_dir_all(&other).unwrap();
        fs::write(tree.join("file"), "").unwrap();
        fs::write(other.join("kept"), "").unwrap();
        let bind = Command::new("mount").arg("--bind").arg(&other).arg(tree.join("proc")).status();
        assert!(bind.unwrap().success());
        // one process that waits for a word: a child of its own would outlive it
        let mut builder = Command::new("sh")
            .args(["-c", "read word; true", "mmdebstrap"])
            .arg(&tree)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();

        let refused = cache::remove(&tree).unwrap_err().to_string();
        assert_eq!(
            refused,
            format!("cannot remove {}: {} is mounted", tree.display(), tree.join("proc").display())
        );
        assert!(tree.join("file").exists() && other.join("kept").exists());

        clear(&tree).unwrap();
        assert!(!tree.exists());
        assert!(other.join("kept").exists(), "the removal crossed a mount");
        let word = builder.stdin.take();
        assert!(!builder.wait().unwrap().success());
        drop(word);
    }
}
