//! One entry of the catalog.

use std::fmt;

use schemars::JsonSchema;
use serde::de::{self, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use thiserror::Error;

use super::layout::Layout;
use crate::checksum::Checksum;

/// An entry of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Entry {
    /// Who publishes the image.
    pub publisher: Publisher,
    /// The release by its code name (V(trixie), V(noble)), or the version of Talos (V(v1.11.5)).
    pub release: String,
    /// The dated build: V(20251117-2299) of Debian, V(20251113) of Ubuntu. Talos has none.
    #[serde(default, deserialize_with = "text")]
    pub serial: Option<String>,
    /// The architecture.
    #[serde(default = "amd64")]
    pub arch: String,
    /// Which of Debian's images; V(genericcloud) by default.
    #[serde(default)]
    pub variant: Option<Variant>,
    /// The id of Talos's schematic. Without it that of O(catalog.extensions) is taken.
    #[serde(default)]
    pub schematic: Option<String>,
    /// The official extensions of Talos that the image has, for example
    /// V(siderolabs/qemu-guest-agent).
    #[serde(default)]
    pub extensions: Vec<String>,
    /// An address that has the same files as the publisher's own, which it stands for:
    /// V(https://cloud.debian.org/images/cloud), V(https://cloud-images.ubuntu.com/releases),
    /// V(https://factory.talos.dev).
    #[serde(default)]
    pub mirror: Option<String>,
    /// The checksum of the file as it is published, V(sha256:...) or V(sha512:...).
    pub checksum: String,
}

/// Who publishes images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Publisher {
    /// Debian's cloud images. They have no guest agent.
    Debian,
    /// Ubuntu's cloud images.
    Ubuntu,
    /// Talos Linux, by its image factory.
    Talos,
}

impl Publisher {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Debian, Self::Ubuntu, Self::Talos];

    /// Its name in the catalog.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Debian => "debian",
            Self::Ubuntu => "ubuntu",
            Self::Talos => "talos",
        }
    }
}

/// Which of Debian's images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Variant {
    /// With the drivers that virtual machines need.
    Genericcloud,
    /// With the drivers of physical machines as well.
    Generic,
}

impl Variant {
    /// Its name in the names of files.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Genericcloud => "genericcloud",
            Self::Generic => "generic",
        }
    }
}

fn amd64() -> String {
    "amd64".to_owned()
}

/// What is wrong with an entry.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{key}: {problem}")]
pub struct EntryError {
    /// The key.
    pub key: &'static str,
    /// What is wrong with its value, and what would be right.
    pub problem: String,
}

impl EntryError {
    pub(crate) fn new(key: &'static str, problem: impl Into<String>) -> Self {
        Self { key, problem: problem.into() }
    }
}

/// An image that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pinned {
    /// Where it is.
    pub url: String,
    /// What it is called, with its date and the ending of its format.
    pub name: String,
    /// The checksum of the file as it is published.
    pub checksum: Checksum,
}

impl Pinned {
    /// What its file is called where it is kept: the name with the beginning of the checksum, which
    /// says that it is this content and no other.
    #[must_use]
    pub fn file_name(&self) -> String {
        let prefix = self.checksum.prefix();
        match self.name.rsplit_once('.') {
            Some((stem, ending)) => format!("{stem}-{prefix}.{ending}"),
            None => format!("{}-{prefix}", self.name),
        }
    }
}

impl Entry {
    /// Where the image is, and what it is called.
    ///
    /// # Errors
    /// Names the key and what would be right.
    pub fn pinned(&self) -> Result<Pinned, EntryError> {
        let checksum = self
            .checksum
            .parse()
            .map_err(|error| EntryError::new("checksum", format!("{error}")))?;
        let layout = Layout::of(self)?;
        let serial = layout.serial(self.serial.as_deref())?;
        Ok(Pinned { url: layout.url(&serial), name: layout.name(&serial), checksum })
    }
}

/// A date is a number to YAML, and text here.
fn text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct Text;

    impl Visitor<'_> for Text {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a dated build, in quotation marks if it has a point")
        }

        fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
            Ok(Some(text.to_owned()))
        }

        fn visit_u64<E: de::Error>(self, number: u64) -> Result<Self::Value, E> {
            Ok(Some(number.to_string()))
        }

        fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(Text)
}
