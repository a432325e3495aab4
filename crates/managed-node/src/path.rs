//! Paths below a root, as the kernel would resolve them after chroot.

use std::collections::VecDeque;
use std::ffi::OsString;
use std::io;
use std::path::{Component, Path, PathBuf};

/// As many as the kernel follows.
const MAX_LINKS: u32 = 40;

/// Resolves `path` below `root` to a logical path (as seen from inside) that has no symlink left,
/// save the last component if `follow_last` is false. What does not exist stays as written.
pub(crate) fn resolve(root: &Path, path: &Path, follow_last: bool) -> io::Result<PathBuf> {
    let mut pending: VecDeque<OsString> = VecDeque::new();
    queue(&mut pending, path);
    let mut done = PathBuf::from("/");
    let mut links = 0;
    while let Some(name) = pending.pop_front() {
        if name == ".." {
            done.pop();
            continue;
        }
        let next = done.join(&name);
        let last = pending.is_empty();
        if last && !follow_last {
            return Ok(next);
        }
        match std::fs::read_link(outside(root, &next)) {
            Ok(target) => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(io::Error::other("too many levels of symbolic links"));
                }
                if target.is_absolute() {
                    done = PathBuf::from("/");
                }
                queue(&mut pending, &target);
            }
            Err(_) => done = next,
        }
    }
    Ok(done)
}

/// The path on the machine of a logical path.
pub(crate) fn outside(root: &Path, logical: &Path) -> PathBuf {
    root.join(logical.strip_prefix("/").unwrap_or(logical))
}

/// Puts the components of `path` before what is pending.
fn queue(pending: &mut VecDeque<OsString>, path: &Path) {
    for component in path.components().rev() {
        match component {
            Component::Normal(name) => pending.push_front(name.to_owned()),
            Component::ParentDir => pending.push_front("..".into()),
            Component::CurDir | Component::RootDir | Component::Prefix(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn resolves_as_after_chroot() {
        let root = tempfile::tempdir().unwrap();
        let r = root.path();
        std::fs::create_dir_all(r.join("etc/ssh")).unwrap();
        std::fs::write(r.join("etc/ssh/a"), "").unwrap();
        symlink("/etc", r.join("abs")).unwrap();
        symlink("../../../../../../etc/ssh", r.join("etc/up")).unwrap();
        symlink("/etc/shadow-outside", r.join("etc/dangling")).unwrap();
        symlink("loop", r.join("loop")).unwrap();
        let table = [
            ("/etc/ssh/a", true, "/etc/ssh/a"),
            ("/abs/ssh/a", true, "/etc/ssh/a"),
            ("/etc/up/a", true, "/etc/ssh/a"),
            ("/../../etc/./ssh/a", true, "/etc/ssh/a"),
            ("/abs", false, "/abs"),
            ("/abs", true, "/etc"),
            ("/etc/dangling", true, "/etc/shadow-outside"),
            ("/nothing/../etc", true, "/etc"),
            ("/abs/new/file", true, "/etc/new/file"),
        ];
        for (path, follow, wanted) in table {
            assert_eq!(resolve(r, Path::new(path), follow).unwrap(), Path::new(wanted), "{path}");
        }
        let error = resolve(r, Path::new("/loop/x"), true).unwrap_err();
        assert_eq!(error.to_string(), "too many levels of symbolic links");
    }
}
