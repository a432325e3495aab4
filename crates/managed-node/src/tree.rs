//! Moving and removing more than one file, and the room there is for it.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;

use nix::sys::statvfs::statvfs;

use crate::error::NodeError;
use crate::node::Node;

impl Node {
    /// Moves a file, over one that is there. Between file systems it is copied with its owner,
    /// mode and time, which programs compare.
    ///
    /// # Errors
    /// When it cannot be moved.
    pub fn move_file(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), NodeError> {
        let path = from.as_ref();
        let (from, to) = (self.locate(path)?, self.locate(to)?);
        match fs::rename(&from, &to) {
            Err(source) if source.kind() == io::ErrorKind::CrossesDevices => copy(&from, &to),
            other => other,
        }
        .map_err(|source| NodeError::File { what: "move", path: path.to_owned(), source })
    }

    /// Removes a folder and all in it, if it is there. Links in it are not followed.
    ///
    /// # Errors
    /// When something in it cannot be removed.
    pub fn remove_tree(&self, path: impl AsRef<Path>) -> Result<(), NodeError> {
        let path = path.as_ref();
        match fs::remove_dir_all(self.locate(path)?) {
            Err(source) if source.kind() != io::ErrorKind::NotFound => {
                Err(NodeError::File { what: "remove", path: path.to_owned(), source })
            }
            _ => Ok(()),
        }
    }

    /// The free bytes of the file system that a path is on.
    ///
    /// # Errors
    /// When there is no such path.
    pub fn free_bytes(&self, path: impl AsRef<Path>) -> Result<u64, NodeError> {
        let path = path.as_ref();
        let room = statvfs(&self.followed(path)?).map_err(|errno| NodeError::File {
            what: "look at the room of",
            path: path.to_owned(),
            source: errno.into(),
        })?;
        Ok(room.blocks_available().saturating_mul(room.fragment_size()))
    }
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let meta = fs::metadata(from)?;
    let beside = crate::replace::temporary(to)?;
    let copied = (|| {
        fs::copy(from, &beside)?;
        chown(&beside, Some(meta.uid()), Some(meta.gid()))?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(meta.mode() & 0o7777))?;
        fs::File::options().write(true).open(&beside)?.set_modified(meta.modified()?)?;
        fs::rename(&beside, to)
    })();
    if copied.is_err() {
        let _ = fs::remove_file(&beside);
    }
    copied.and_then(|()| fs::remove_file(from))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_moved_and_trees_removed() {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        node.make_folder("/a/b", 0o755).unwrap();
        fs::write(folder.path().join("a/x"), "new").unwrap();
        fs::write(folder.path().join("a/b/y"), "old").unwrap();
        node.move_file("/a/x", "/a/b/y").unwrap();
        assert_eq!(node.read("/a/b/y").unwrap(), b"new");
        assert!(!node.exists("/a/x"));
        assert!(node.move_file("/a/x", "/a/z").unwrap_err().is_absent());
        node.remove_tree("/a").unwrap();
        node.remove_tree("/a").unwrap();
        assert!(node.list("/").unwrap().is_empty());
        assert!(node.free_bytes("/").unwrap() > 0);
    }

    #[test]
    fn a_copy_keeps_mode_and_time() {
        let folder = tempfile::tempdir().unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        fs::write(&from, "text").unwrap();
        fs::set_permissions(&from, fs::Permissions::from_mode(0o640)).unwrap();
        let before = fs::metadata(&from).unwrap();
        copy(&from, &to).unwrap();
        let after = fs::metadata(&to).unwrap();
        assert_eq!(
            (after.mode(), after.modified().unwrap()),
            (before.mode(), before.modified().unwrap())
        );
        assert!(!from.exists());
    }
}
