//! One volume of a storage.

use std::fmt;
use std::str::FromStr;

use crate::text::text_type;
use crate::{ParseError, StorageId};

/// `storage:path`, one volume.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VolId {
    /// The storage that holds it.
    pub storage: StorageId,
    /// The volume's name there: `import/debian-13.qcow2`, `110/vm-110-disk-0.raw`, `vm-110-disk-0`.
    pub volume: String,
}

impl VolId {
    /// The last part of the name: `debian-13.qcow2` of `local:import/debian-13.qcow2`.
    #[must_use]
    pub fn file_name(&self) -> &str {
        self.volume.rsplit('/').next().unwrap_or(&self.volume)
    }

    /// The content type, where the name says it: `import`, `iso`, `vztmpl`, `snippets`, `backup`.
    /// Guest images say it only by having none of these.
    #[must_use]
    pub fn content(&self) -> Option<&str> {
        let (first, rest) = self.volume.split_once('/')?;
        let named = matches!(first, "import" | "iso" | "vztmpl" | "snippets" | "backup");
        (named && !rest.is_empty()).then_some(first)
    }

    /// Whether another volume is a linked copy of this one: its name says so, or the `parent` that
    /// its storage tells, `../110/base-110-disk-0.raw` or `base-110-disk-0@__base__`.
    #[must_use]
    pub fn is_base_of(&self, other: &Self, parent: Option<&str>) -> bool {
        let named =
            other.volume.strip_prefix(&self.volume).is_some_and(|rest| rest.starts_with('/'));
        let parent = parent.and_then(|parent| parent.rsplit('/').next()?.split('@').next());
        self.storage == other.storage && (named || parent == Some(self.file_name()))
    }

    /// Whether it is a cloud-init drive that PVE made.
    #[must_use]
    pub fn is_cloudinit(&self) -> bool {
        let name = self.file_name();
        let stem = name.split('.').next().unwrap_or(name);
        stem == "cloudinit" || (stem.starts_with("vm-") && stem.ends_with("-cloudinit"))
    }
}

impl FromStr for VolId {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || {
            ParseError::new("a volume", text, "STORAGE:VOLUME, for example local:import/x.qcow2")
        };
        let (storage, volume) = text.split_once(':').ok_or_else(wrong)?;
        if volume.is_empty() || volume.contains([',', '\n']) || volume.starts_with('/') {
            return Err(wrong());
        }
        Ok(Self { storage: storage.parse().map_err(|_| wrong())?, volume: volume.to_owned() })
    }
}

impl fmt::Display for VolId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.storage, self.volume)
    }
}

text_type!(VolId);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_copies_are_known_by_their_names_or_parents() {
        let copy = "local:110/base-110-disk-0.qcow2/130/vm-130-disk-0.qcow2";
        for (base, other, parent, is) in [
            ("local:110/base-110-disk-0.qcow2", copy, None, true),
            ("local:110/base-110-disk-0.qcow2", copy, Some("../110/base-110-disk-0.qcow2"), true),
            ("local:110/base-110-disk-1.qcow2", copy, Some("../110/base-110-disk-0.qcow2"), false),
            ("thin:base-110-disk-0", "thin:vm-130-disk-0", Some("base-110-disk-0"), true),
            ("zfs:base-110-disk-0", "zfs:vm-130-disk-0", Some("base-110-disk-0@__base__"), true),
            ("zfs:base-110-disk-0", "fast:vm-130-disk-0", Some("base-110-disk-0"), false),
            ("thin:base-110-disk-0", "thin:base-110-disk-0", None, false),
            ("thin:base-110-disk-1", "thin:base-110-disk-10/vm-130-disk-0", None, false),
        ] {
            let (base, other): (VolId, VolId) = (base.parse().unwrap(), other.parse().unwrap());
            assert_eq!(base.is_base_of(&other, parent), is, "{base} {other}");
        }
    }

    #[test]
    fn real_volumes() {
        for (text, content, cloudinit) in [
            ("local:import/debian-13.qcow2", Some("import"), false),
            ("local:110/vm-110-disk-0.raw", None, false),
            ("local:110/vm-110-cloudinit.qcow2", None, true),
            ("local-lvm:vm-100-cloudinit", None, true),
            ("local:110/base-110-disk-0.qcow2/130/vm-130-disk-0.qcow2", None, false),
            ("local:iso/a b.iso", Some("iso"), false),
            ("local:cloudinit", None, true),
        ] {
            let volid: VolId = text.parse().unwrap();
            assert_eq!(volid.to_string(), text);
            assert_eq!(volid.content(), content, "{text}");
            assert_eq!(volid.is_cloudinit(), cloudinit, "{text}");
        }
        for text in ["none", "/dev/sda", "local:", "local", ":x", "local:/etc/passwd", "a b:c"] {
            assert!(text.parse::<VolId>().is_err(), "{text}");
        }
    }
}
