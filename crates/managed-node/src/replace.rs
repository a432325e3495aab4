//! Files replaced in one step, and put back as they were.
//!
//! The new content is written beside the old, synced and renamed over it: whoever reads, and
//! whatever is left after a crash, sees the old file or the new one.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::NodeError;
use crate::files::Kind;
use crate::node::Node;

/// Mode and owner of a written file. What is not given is kept from the file that was there; a
/// new file is 0644 and belongs to whoever runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Attributes {
    /// Permission bits.
    pub mode: Option<u32>,
    /// User and group id.
    pub owner: Option<(u32, u32)>,
}

/// A path as it was at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Saved {
    /// Nothing was there.
    Absent,
    /// A file.
    File {
        /// Its bytes.
        content: Vec<u8>,
        /// Its permission bits.
        mode: u32,
        /// Its user and group id.
        owner: (u32, u32),
        /// Its time of change.
        modified: SystemTime,
    },
    /// A symlink, and where it points.
    Link(PathBuf),
}

impl Saved {
    /// The file's bytes, if it was a file.
    #[must_use]
    pub fn content(&self) -> Option<&[u8]> {
        match self {
            Self::File { content, .. } => Some(content),
            Self::Absent | Self::Link(_) => None,
        }
    }

    /// Whether nobody but root can change a file that is there. One who can would decide what root's
    /// programs read in it.
    #[must_use]
    pub fn is_roots_alone(&self) -> bool {
        match self {
            Self::File { mode, owner: (user, _), .. } => *user == 0 && mode & 0o022 == 0,
            Self::Absent | Self::Link(_) => true,
        }
    }

    /// Attributes under which nobody but root can change the file, as near to its own as can be.
    #[must_use]
    pub fn attributes_for_root(&self) -> Attributes {
        match self {
            _ if self.is_roots_alone() => Attributes {
                // the mode of a link is not that of a file
                mode: matches!(self, Self::Link(_)).then_some(0o644),
                owner: None,
            },
            Self::File { mode, .. } => {
                Attributes { mode: Some(mode & !0o022), owner: Some((0, 0)) }
            }
            Self::Absent | Self::Link(_) => Attributes::default(),
        }
    }
}

impl Node {
    /// Replaces a file, or makes it. A symlink at the path itself is replaced, not followed.
    ///
    /// # Errors
    /// When it cannot be written; the old file is then untouched.
    pub fn replace(
        &self,
        path: impl AsRef<Path>,
        content: &[u8],
        attributes: Attributes,
    ) -> Result<(), NodeError> {
        let path = path.as_ref();
        let outside = self.locate(path)?;
        write_beside(&outside, content, attributes, None).map_err(|source| NodeError::File {
            what: "replace",
            path: path.to_owned(),
            source,
        })
    }

    /// Remembers what is at the path.
    ///
    /// # Errors
    /// When it is a folder or a device, or cannot be read.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<Saved, NodeError> {
        let path = path.as_ref();
        let error = |source| NodeError::File { what: "read", path: path.to_owned(), source };
        match self.kind(path)? {
            None => Ok(Saved::Absent),
            Some(Kind::Link(target)) => Ok(Saved::Link(target)),
            Some(Kind::File) => {
                let outside = self.locate(path)?;
                let meta = std::fs::metadata(&outside).map_err(error)?;
                Ok(Saved::File {
                    content: std::fs::read(&outside).map_err(error)?,
                    mode: meta.mode() & 0o7777,
                    owner: (meta.uid(), meta.gid()),
                    modified: meta.modified().map_err(error)?,
                })
            }
            Some(Kind::Folder | Kind::Other) => {
                Err(error(io::Error::other("it is not a regular file")))
            }
        }
    }

    /// Puts a path back to what it was, byte for byte.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn restore(&self, path: impl AsRef<Path>, saved: &Saved) -> Result<(), NodeError> {
        let path = path.as_ref();
        match saved {
            Saved::Absent => self.remove(path).map(|_| ()),
            Saved::Link(target) => self.link(path, target),
            Saved::File { content, mode, owner, modified } => {
                let attributes = Attributes { mode: Some(*mode), owner: Some(*owner) };
                write_beside(&self.locate(path)?, content, attributes, Some(*modified)).map_err(
                    |source| NodeError::File { what: "restore", path: path.to_owned(), source },
                )
            }
        }
    }
}

fn write_beside(
    outside: &Path,
    content: &[u8],
    attributes: Attributes,
    modified: Option<SystemTime>,
) -> io::Result<()> {
    let old = std::fs::symlink_metadata(outside).ok().filter(std::fs::Metadata::is_file);
    let mode = attributes.mode.or_else(|| old.as_ref().map(|old| old.mode() & 0o7777));
    let owner = attributes.owner.or_else(|| old.as_ref().map(|old| (old.uid(), old.gid())));
    let beside = temporary(outside)?;
    let written = (|| {
        // closed to others until owner and mode are right
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&beside)?;
        file.write_all(content)?;
        if let Some((user, group)) = owner {
            let meta = file.metadata()?;
            if (meta.uid(), meta.gid()) != (user, group) {
                fchown(&file, Some(user), Some(group))?;
            }
        }
        file.set_permissions(std::fs::Permissions::from_mode(mode.unwrap_or(0o644)))?;
        if let Some(modified) = modified {
            file.set_modified(modified)?;
        }
        file.sync_all()?;
        std::fs::rename(&beside, outside)
    })();
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written.and_then(|()| sync_folder(outside))
}

/// A name beside the file that no program reads: it begins with a dot and has our suffix. What an
/// earlier run left when it was killed is removed here.
pub(crate) fn temporary(outside: &Path) -> io::Result<PathBuf> {
    let (Some(folder), Some(name)) = (outside.parent(), outside.file_name()) else {
        return Err(io::Error::other("it is not a path of a file"));
    };
    let prefix = format!(".{}.ferrite-", name.to_string_lossy());
    for entry in std::fs::read_dir(folder)?.flatten() {
        let entry_name = entry.file_name();
        let left = entry_name.to_string_lossy();
        let Some(pid) = left.strip_prefix(&prefix) else { continue };
        if pid == std::process::id().to_string() || !is_running(pid) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(folder.join(format!("{prefix}{}", std::process::id())))
}

/// Whether the process of this number still runs. One that was killed and that nobody has waited
/// for is listed in `/proc` for a while, without a program.
#[must_use]
pub fn is_running(pid: &str) -> bool {
    let is_number = pid.bytes().all(|byte| byte.is_ascii_digit());
    let program = std::fs::read_link(format!("/proc/{pid}/exe"));
    is_number && !program.is_err_and(|error| error.kind() == io::ErrorKind::NotFound)
}

/// Makes a rename or removal last through a power cut.
pub(crate) fn sync_folder(outside: &Path) -> io::Result<()> {
    outside.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    fn node() -> (tempfile::TempDir, Node) {
        let folder = tempfile::tempdir().unwrap();
        let node = Node::new(Some(folder.path())).unwrap();
        node.make_folder("/etc", 0o755).unwrap();
        (folder, node)
    }

    fn mode(node: &Node, path: &str) -> u32 {
        node.owner_and_mode(path).unwrap().2
    }

    #[test]
    fn mode_is_kept_or_given() {
        let (_folder, node) = node();
        let given = Attributes { mode: Some(0o600), owner: None };
        node.replace("/etc/new", b"a", Attributes::default()).unwrap();
        assert_eq!(mode(&node, "/etc/new"), 0o644);
        node.replace("/etc/new", b"b", given).unwrap();
        assert_eq!(mode(&node, "/etc/new"), 0o600);
        node.replace("/etc/new", b"c", Attributes::default()).unwrap();
        assert_eq!(mode(&node, "/etc/new"), 0o600);
        assert_eq!(node.read("/etc/new").unwrap(), b"c");
    }

    #[test]
    fn what_a_killed_run_left_is_removed_and_a_living_one_is_left_alone() {
        let (folder, node) = node();
        let living = format!(".x.ferrite-{}", std::os::unix::process::parent_id());
        std::fs::write(folder.path().join("etc/.x.ferrite-999999999"), "half").unwrap();
        std::fs::write(folder.path().join("etc").join(&living), "half").unwrap();
        node.replace("/etc/x", b"whole", Attributes::default()).unwrap();
        let names: Vec<_> =
            node.list("/etc").unwrap().into_iter().map(|entry| entry.name).collect();
        assert_eq!(names, [living.as_str(), "x"]);
    }

    #[test]
    fn a_process_that_nobody_has_waited_for_does_not_run() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let stat = format!("/proc/{}/stat", child.id());
        while !std::fs::read_to_string(&stat).unwrap().contains(") Z") {
            std::thread::yield_now();
        }
        assert!(!is_running(&child.id().to_string()));
        child.wait().unwrap();
        assert!(is_running(&std::process::id().to_string()));
        assert!(!is_running("self") && !is_running("999999999"));
    }

    #[test]
    fn restore_gives_back_what_was_there() {
        let (folder, node) = node();
        let path = folder.path().join("etc/x");
        let change = |node: &Node| node.replace("/etc/x", b"changed", Attributes::default());

        let absent = node.save("/etc/x").unwrap();
        change(&node).unwrap();
        node.restore("/etc/x", &absent).unwrap();
        assert_eq!(node.kind("/etc/x").unwrap(), None);

        std::fs::write(&path, b"old\r\n\xff").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
        let file = node.save("/etc/x").unwrap();
        change(&node).unwrap();
        node.restore("/etc/x", &file).unwrap();
        assert_eq!(node.save("/etc/x").unwrap(), file);
        assert_eq!(file.content(), Some(b"old\r\n\xff".as_slice()));

        std::fs::remove_file(&path).unwrap();
        symlink("/dev/null", &path).unwrap();
        let link = node.save("/etc/x").unwrap();
        change(&node).unwrap();
        node.restore("/etc/x", &link).unwrap();
        assert_eq!(node.kind("/etc/x").unwrap(), Some(Kind::Link("/dev/null".into())));
    }

    #[test]
    fn a_write_does_not_leave_the_root() {
        let (folder, node) = node();
        let other = tempfile::tempdir().unwrap();
        symlink(other.path(), folder.path().join("etc/out")).unwrap();
        let error = node.replace("/etc/out/x", b"", Attributes::default()).unwrap_err();
        assert!(error.to_string().starts_with("failed to replace /etc/out/x"), "{error}");
        assert_eq!(std::fs::read_dir(other.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_in_the_way_is_an_error() {
        let (_folder, node) = node();
        node.make_folder("/etc/d.conf", 0o755).unwrap();
        assert!(node.save("/etc/d.conf").is_err());
        assert!(node.replace("/etc/d.conf", b"", Attributes::default()).is_err());
        assert_eq!(node.list("/etc").unwrap().len(), 1);
    }
}
