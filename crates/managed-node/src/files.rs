//! Reading, listing, linking and removing below the root.

use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use crate::error::NodeError;
use crate::node::Node;
use crate::replace::{sync_folder, temporary};

/// What lies at a path; a symlink is not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder.
    Folder,
    /// A symlink and where it points, as written.
    Link(PathBuf),
    /// A device, socket or pipe.
    Other,
}

/// One name in a folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The name; names that are not UTF-8 are left out of listings.
    pub name: String,
    /// What it is.
    pub kind: Kind,
}

impl Node {
    fn error(what: &'static str, path: &Path, source: io::Error) -> NodeError {
        NodeError::File { what, path: path.to_owned(), source }
    }

    /// The file's bytes; symlinks are followed within the root.
    ///
    /// # Errors
    /// When it cannot be read, also when it is not there.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, NodeError> {
        let path = path.as_ref();
        std::fs::read(self.followed(path)?).map_err(|source| Self::error("read", path, source))
    }

    /// The file's text; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// As [`Self::read`].
    pub fn read_text(&self, path: impl AsRef<Path>) -> Result<String, NodeError> {
        Ok(String::from_utf8_lossy(&self.read(path)?).into_owned())
    }

    /// The file's text, or nothing if there is no file.
    ///
    /// # Errors
    /// When it is there and cannot be read.
    pub fn read_text_if_any(&self, path: impl AsRef<Path>) -> Result<Option<String>, NodeError> {
        match self.read_text(path) {
            Ok(text) => Ok(Some(text)),
            Err(error) if error.is_absent() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Whether something is there after following symlinks.
    #[must_use]
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        self.followed(path.as_ref()).is_ok_and(|path| path.exists())
    }

    /// What lies at the path itself, or nothing.
    ///
    /// # Errors
    /// When it cannot be looked at.
    pub fn kind(&self, path: impl AsRef<Path>) -> Result<Option<Kind>, NodeError> {
        let path = path.as_ref();
        let outside = self.locate(path)?;
        match std::fs::symlink_metadata(&outside) {
            Ok(meta) => kind_of(&outside, &meta)
                .map(Some)
                .map_err(|source| Self::error("look at", path, source)),
            Err(source) if absent(&source) => Ok(None),
            Err(source) => Err(Self::error("look at", path, source)),
        }
    }

    /// The names in a folder in byte order; none if there is no such folder.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<Entry>, NodeError> {
        let path = path.as_ref();
        let entries = match std::fs::read_dir(self.followed(path)?) {
            Ok(entries) => entries,
            Err(source) if absent(&source) => return Ok(Vec::new()),
            Err(source) => return Err(Self::error("list", path, source)),
        };
        let mut names = Vec::new();
        for entry in entries {
            let entry = entry.map_err(|source| Self::error("list", path, source))?;
            let Ok(name) = entry.file_name().into_string() else { continue };
            let outside = entry.path();
            let kind = std::fs::symlink_metadata(&outside)
                .and_then(|meta| kind_of(&outside, &meta))
                .map_err(|source| Self::error("look at", &path.join(&name), source))?;
            names.push(Entry { name, kind });
        }
        names.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(names)
    }

    /// Mode bits, owner and group of what the path leads to.
    ///
    /// # Errors
    /// When it is not there.
    pub fn owner_and_mode(&self, path: impl AsRef<Path>) -> Result<(u32, u32, u32), NodeError> {
        let path = path.as_ref();
        let meta = std::fs::metadata(self.followed(path)?)
            .map_err(|source| Self::error("look at", path, source))?;
        Ok((meta.uid(), meta.gid(), meta.mode() & 0o7777))
    }

    /// Makes a folder with the folders above it; true if it was not there.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn make_folder(&self, path: impl AsRef<Path>, mode: u32) -> Result<bool, NodeError> {
        let path = path.as_ref();
        let outside = self.followed(path)?;
        if outside.is_dir() {
            return Ok(false);
        }
        std::fs::DirBuilder::new()
            .recursive(true)
            .mode(mode)
            .create(&outside)
            // the umask may have taken bits away
            .and_then(|()| {
                std::fs::set_permissions(&outside, std::fs::Permissions::from_mode(mode))
            })
            .map_err(|source| Self::error("make folder", path, source))?;
        Ok(true)
    }

    /// Makes a symlink; what was there is replaced in one step.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn link(&self, path: impl AsRef<Path>, target: impl AsRef<Path>) -> Result<(), NodeError> {
        let path = path.as_ref();
        let outside = self.locate(path)?;
        temporary(&outside)
            .and_then(|beside| {
                symlink(target.as_ref(), &beside)?;
                std::fs::rename(&beside, &outside).inspect_err(|_| {
                    let _ = std::fs::remove_file(&beside);
                })?;
                sync_folder(&outside)
            })
            .map_err(|source| Self::error("link", path, source))
    }

    /// Removes a file or symlink; true if it was there.
    ///
    /// # Errors
    /// When it cannot be removed.
    pub fn remove(&self, path: impl AsRef<Path>) -> Result<bool, NodeError> {
        let path = path.as_ref();
        let outside = self.locate(path)?;
        match std::fs::remove_file(&outside) {
            Ok(()) => sync_folder(&outside)
                .map(|()| true)
                .map_err(|source| Self::error("remove", path, source)),
            Err(source) if absent(&source) => Ok(false),
            Err(source) => Err(Self::error("remove", path, source)),
        }
    }
}

fn absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

fn kind_of(outside: &Path, meta: &std::fs::Metadata) -> io::Result<Kind> {
    let kind = meta.file_type();
    Ok(if kind.is_symlink() {
        Kind::Link(std::fs::read_link(outside)?)
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_dir() {
        Kind::Folder
    } else {
        Kind::Other
    })
}
