//! The catalog file: variables of Ansible, of which `images` has the entries by their names.
//!
//! It is changed line by line, since comments and order are the reviewer's. What comes out is read
//! again and compared with what was meant before anything is written.

mod edit;

use std::fs::{self, Permissions};
use std::io::{ErrorKind, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use images::Entry;
use serde_yaml_ng::Value;

/// Where the catalog is, seen from the repository's root: all hosts have it as variables.
pub(crate) const PLACE: &str = "inventory/site/group_vars/all/images.yml";
/// The variable that has the entries.
const VARIABLE: &str = "images";

/// A catalog as it is in its file.
#[derive(Debug, Clone)]
pub(crate) struct Catalog {
    path: PathBuf,
    text: String,
    entries: Vec<(String, Entry)>,
}

impl Catalog {
    /// Reads one.
    pub(crate) fn read(path: &Path) -> Result<Self> {
        let text = fs::read_to_string(path)
            .with_context(|| format!("failed to read the catalog {}", path.display()))?;
        Self::of(path, text)
    }

    /// Reads one, or begins one that has no entries.
    pub(crate) fn read_or_new(path: &Path) -> Result<Self> {
        match fs::read_to_string(path) {
            Ok(text) => Self::of(path, text),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Ok(Self { path: path.to_owned(), text: String::new(), entries: Vec::new() })
            }
            Err(error) => {
                Err(error).with_context(|| format!("failed to read the catalog {}", path.display()))
            }
        }
    }

    fn of(path: &Path, text: String) -> Result<Self> {
        let entries = entries(&text).with_context(|| path.display().to_string())?;
        Ok(Self { path: path.to_owned(), text, entries })
    }

    /// The file as it is.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The names of all entries.
    pub(crate) fn names(&self) -> Vec<String> {
        self.entries.iter().map(|(name, _)| name.clone()).collect()
    }

    /// The entry of a name, if there is one.
    pub(crate) fn find(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|(known, _)| known == name).map(|(_, entry)| entry)
    }

    /// The entry of a name.
    pub(crate) fn entry(&self, name: &str) -> Result<&Entry> {
        self.find(name).with_context(|| {
            let names = self.names().join(", ");
            let names = if names.is_empty() { "none" } else { &names };
            format!("{} has no entry '{name}'; it has {names}", self.path.display())
        })
    }

    /// With another entry under a name, new or in place of the one that is there.
    pub(crate) fn with(&self, name: &str, entry: &Entry) -> Result<Self> {
        let text = match self.find(name) {
            Some(before) => edit::changed(&self.text, name, before, entry),
            None => edit::added(&self.text, name, entry),
        };
        let mut meant = self.entries.clone();
        match meant.iter_mut().find(|(known, _)| known == name) {
            Some((_, place)) => *place = entry.clone(),
            None => meant.push((name.to_owned(), entry.clone())),
        }
        match text.filter(|text| entries(text).is_ok_and(|found| found == meant)) {
            Some(text) => Ok(Self { path: self.path.clone(), text, entries: meant }),
            None => bail!(
                "{} is written in a way that is not changed line by line; write there:\n{}",
                self.path.display(),
                edit::lines(name, entry, 2).join("\n")
            ),
        }
    }

    /// Writes it, all or nothing.
    pub(crate) fn write(&self) -> Result<()> {
        let path = &self.path;
        let unwritten = || format!("failed to write the catalog {}", path.display());
        // a link stays a link
        let real = fs::canonicalize(path).unwrap_or_else(|_| path.clone());
        let folder = real.parent().filter(|folder| !folder.as_os_str().is_empty());
        let folder = folder.unwrap_or(Path::new("."));
        fs::create_dir_all(folder).with_context(unwritten)?;
        let mode = fs::metadata(&real).map_or(0o644, |meta| meta.permissions().mode());
        let mut file = tempfile::Builder::new()
            .prefix(".images-")
            .permissions(Permissions::from_mode(0o644))
            .tempfile_in(folder)
            .with_context(unwritten)?;
        file.write_all(self.text.as_bytes()).with_context(unwritten)?;
        if real.exists() {
            let permissions = Permissions::from_mode(mode);
            file.as_file().set_permissions(permissions).with_context(unwritten)?;
        }
        file.persist(&real).with_context(unwritten)?;
        Ok(())
    }
}

/// The entries of a file, in its order.
fn entries(text: &str) -> Result<Vec<(String, Entry)>> {
    let value: Value = serde_yaml_ng::from_str(text).context("it is no YAML")?;
    let images = match value {
        Value::Null => return Ok(Vec::new()),
        Value::Mapping(mut variables) => variables.remove(VARIABLE).unwrap_or_default(),
        _ => bail!("it is no mapping with the variable '{VARIABLE}'"),
    };
    let images = match images {
        Value::Null => return Ok(Vec::new()),
        Value::Mapping(images) => images,
        _ => bail!("{VARIABLE}: it is no mapping of names to entries"),
    };
    let mut entries = Vec::new();
    for (name, value) in images {
        let name = name.as_str().with_context(|| format!("{VARIABLE}: a name is no text"))?;
        let entry: Entry =
            serde_yaml_ng::from_value(value).with_context(|| format!("{VARIABLE}.{name}"))?;
        entry.pinned().with_context(|| format!("{VARIABLE}.{name}"))?;
        entries.push((name.to_owned(), entry));
    }
    Ok(entries)
}
