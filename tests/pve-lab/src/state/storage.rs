//! Storages of type `dir`, and the volumes that lie in them as files.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// A storage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Storage {
    pub(crate) id: String,
    /// The path shown in the API and in messages.
    pub(crate) path: String,
    /// Where its files really are.
    pub(crate) root: PathBuf,
    /// What it may hold, in the order it is shown.
    pub(crate) content: Vec<String>,
    #[serde(default)]
    pub(crate) disabled: bool,
    #[serde(default)]
    pub(crate) shared: bool,
    /// The nodes that have it; all if empty.
    #[serde(default)]
    pub(crate) nodes: Vec<String>,
    /// Free bytes to report; `None` is plenty.
    #[serde(default)]
    pub(crate) free: Option<u64>,
    /// Whether each node has images, iso files and templates of its own, as it is with storages that
    /// are not shared. Tests that do not care need not put a file on each node.
    #[serde(default)]
    pub(crate) separate: bool,
    /// The node whose files are meant, if others have files of their own.
    #[serde(skip)]
    pub(crate) corner: Option<String>,
}

/// The parts of a volume's name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Volume {
    pub(crate) storage: String,
    /// `images`, `iso`, `import`, ...
    pub(crate) content: String,
    /// The file's name.
    pub(crate) name: String,
    /// The guest it belongs to.
    pub(crate) vmid: Option<u32>,
    /// The base volume (`110/base-110-disk-0.qcow2`) of a linked clone.
    pub(crate) base: Option<String>,
}

/// The folder of a content type below a storage's root.
pub(crate) fn folder(content: &str) -> &'static str {
    match content {
        "iso" => "template/iso",
        "vztmpl" => "template/cache",
        "import" => "import",
        "snippets" => "snippets",
        "backup" => "dump",
        _ => "images",
    }
}

impl Volume {
    /// Reads a volume id; `None` if it is none of a `dir` storage.
    pub(crate) fn parse(volid: &str) -> Option<Self> {
        let (storage, rest) = volid.split_once(':')?;
        let storage = storage.to_owned();
        if let Some((kind, name)) = rest.split_once('/')
            && matches!(kind, "iso" | "vztmpl" | "import" | "snippets" | "backup")
        {
            return Some(Self {
                storage,
                content: kind.to_owned(),
                name: name.to_owned(),
                vmid: None,
                base: None,
            });
        }
        let parts: Vec<&str> = rest.split('/').collect();
        let (base, owner, name) = match parts.as_slice() {
            [owner, name] => (None, *owner, *name),
            [base_owner, base, owner, name] => {
                (Some(format!("{base_owner}/{base}")), *owner, *name)
            }
            _ => return None,
        };
        Some(Self {
            storage,
            content: "images".to_owned(),
            name: name.to_owned(),
            vmid: Some(owner.parse().ok()?),
            base,
        })
    }

    fn below(&self, root: &Path) -> PathBuf {
        let folder = root.join(folder(&self.content));
        match self.vmid {
            Some(vmid) => folder.join(vmid.to_string()).join(&self.name),
            None => folder.join(&self.name),
        }
    }

    /// The file in the lab's directory.
    pub(crate) fn file(&self, storage: &Storage) -> PathBuf {
        self.below(&storage.files(&self.content))
    }

    /// The path PVE would show.
    pub(crate) fn shown(&self, storage: &Storage) -> String {
        self.below(Path::new(&storage.path)).display().to_string()
    }
}

impl Storage {
    /// Whether it may hold a content type.
    pub(crate) fn holds(&self, content: &str) -> bool {
        self.content.iter().any(|have| have == content)
    }

    /// The storage as a node has it.
    pub(crate) fn at(&self, node: &str) -> Self {
        let corner = (self.separate && !matches!(node, "pve1" | "localhost" | ""))
            .then(|| format!("on-{node}"));
        Self { corner, ..self.clone() }
    }

    /// What the folders of a content type are below.
    pub(crate) fn files(&self, content: &str) -> PathBuf {
        let own = matches!(content, "iso" | "vztmpl" | "import");
        match self.corner.as_ref().filter(|_| own) {
            Some(corner) => self.root.join(corner),
            None => self.root.clone(),
        }
    }

    /// Whether a node has it.
    pub(crate) fn on(&self, node: &str) -> bool {
        self.nodes.is_empty() || self.nodes.iter().any(|have| have == node)
    }

    /// A free disk name of a guest, `vm-110-disk-1`.
    pub(crate) fn next_disk(&self, vmid: u32, taken: &[String]) -> String {
        let folder = self.root.join("images").join(vmid.to_string());
        let mut names: Vec<String> = std::fs::read_dir(folder)
            .map(|entries| {
                entries
                    .flatten()
                    .map(|entry| entry.file_name().to_string_lossy().into_owned())
                    .collect()
            })
            .unwrap_or_default();
        names.extend_from_slice(taken);
        (0..u32::MAX)
            .find(|index| {
                ["vm", "base"].iter().all(|kind| {
                    let stem = format!("{kind}-{vmid}-disk-{index}");
                    !names.iter().any(|name| name.split('.').next() == Some(&stem))
                })
            })
            .map_or_else(String::new, |index| format!("vm-{vmid}-disk-{index}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volume_ids_name_files() {
        for (volid, content, shown) in [
            ("local:iso/x.iso", "iso", "/var/lib/vz/template/iso/x.iso"),
            ("local:110/vm-110-disk-0.raw", "images", "/var/lib/vz/images/110/vm-110-disk-0.raw"),
            (
                "local:110/base-110-disk-0.qcow2/130/vm-130-disk-0.qcow2",
                "images",
                "/var/lib/vz/images/130/vm-130-disk-0.qcow2",
            ),
            ("local:import/a.qcow2", "import", "/var/lib/vz/import/a.qcow2"),
        ] {
            let volume = Volume::parse(volid).unwrap();
            let shown_by = Volume::below(&volume, Path::new("/var/lib/vz"));
            assert_eq!((volume.content.as_str(), shown_by.to_str()), (content, Some(shown)));
        }
        assert_eq!(Volume::parse("local:1"), None);
    }
}
