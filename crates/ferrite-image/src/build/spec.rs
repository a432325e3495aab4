//! What an image should be, as its file says it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use images::{Checksum, Pinned, shown};
use serde::Deserialize;

use crate::catalog::Catalog;

const MIB: u64 = 1 << 20;

/// An image to build.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// The image's name, which names its file too.
    pub name: String,
    /// What it is made from.
    pub source: Source,
    /// The packages to install, `name` or `name=version`.
    #[serde(default)]
    pub packages: Vec<String>,
    /// The dated archive that packages are installed from into an upstream image.
    pub snapshot: Option<Snapshot>,
    /// The size of the disk, `3G`; without it an upstream image keeps its own.
    pub disk: Option<String>,
    /// Files to write.
    #[serde(default)]
    pub files: Vec<Content>,
    /// Commands to run inside, by a shell, after everything else.
    #[serde(default)]
    pub commands: Vec<String>,
}

/// What an image is made from: an upstream image, or Debian's packages.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The upstream image: a path, seen from the spec's folder, or an address.
    pub image: Option<String>,
    /// Its checksum, `sha256:` or `sha512:` and the sum.
    pub checksum: Option<String>,
    /// Or the name of an entry of the catalog, which has both.
    pub catalog: Option<String>,
    /// That entry, once it was looked up.
    #[serde(skip)]
    pub pinned: Option<Pinned>,
    /// Or the release to make the system from, `trixie`.
    pub suite: Option<String>,
    /// Where its packages come from; a dated archive makes it reproducible.
    pub mirror: Option<String>,
    /// The keys that sign that archive, if the build host's own are not the right ones.
    pub keyring: Option<PathBuf>,
}

/// A dated archive.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Snapshot {
    /// Its identifier, `20250601T000000Z`.
    pub id: String,
    /// Where the archives are; upstream's snapshot service if it is not given.
    pub mirror: Option<String>,
}

/// A file in the image.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Content {
    /// Where it is in the image.
    pub path: String,
    /// Its text.
    pub content: Option<String>,
    /// Or a file whose bytes it gets, seen from the spec's folder.
    pub source: Option<PathBuf>,
    /// Its mode, `"0644"` if it is not given.
    pub mode: Option<String>,
}

/// What is meant by a source that was looked over.
pub(super) enum Origin<'a> {
    Image { place: &'a str, checksum: Checksum },
    Packages { suite: &'a str, mirror: Option<&'a str>, keyring: Option<&'a Path> },
}

impl Spec {
    /// Reads a spec; what it names by relative paths is looked for beside it, and what it takes from
    /// the catalog in that file.
    ///
    /// # Errors
    /// When the file cannot be read or says something that is not understood.
    pub fn read(path: &Path, catalog: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path)
            .with_context(|| format!("cannot read {}", path.display()))?;
        let mut spec: Self = serde_yaml_ng::from_str(&text)
            .with_context(|| format!("{} is not a spec of an image", path.display()))?;
        let folder = path.parent().unwrap_or_else(|| Path::new("."));
        for file in &mut spec.files {
            file.source = file.source.as_ref().map(|source| folder.join(source));
        }
        spec.source.keyring = spec.source.keyring.map(|keyring| folder.join(keyring));
        if let Some(image) = spec.source.image.take() {
            let local = !is_address(&image);
            let placed = || folder.join(&image).to_string_lossy().into_owned();
            spec.source.image = Some(if local { placed() } else { image });
        }
        if let Some(name) = &spec.source.catalog {
            let pinned = Catalog::read(catalog)?.entry(name)?.pinned();
            spec.source.pinned = Some(pinned.with_context(|| name.clone())?);
        }
        Ok(spec)
    }

    /// Looks the spec over.
    ///
    /// # Errors
    /// All that is wrong with it, at once.
    pub fn check(&self) -> Result<()> {
        let mut wrong = Vec::new();
        if self.name.is_empty() || self.name.starts_with('.') || !plain(&self.name, "._-") {
            wrong.push(format!("name: '{}' is not letters, digits, '.', '_' and '-'", self.name));
        }
        if let Err(error) = self.origin() {
            wrong.push(format!("source: {error}"));
        }
        for package in &self.packages {
            let starts = package.starts_with(|c: char| c.is_ascii_alphanumeric());
            if !starts || !plain(package, "+-.:=~") {
                wrong.push(format!("packages: '{package}' is not a name, nor name=version"));
            }
        }
        if let Some(snapshot) = &self.snapshot {
            if !is_snapshot_id(&snapshot.id) {
                let id = &snapshot.id;
                wrong.push(format!("snapshot: '{id}' is no identifier, which is 20250601T000000Z"));
            }
            if snapshot.mirror.as_ref().is_some_and(|mirror| !is_mirror(mirror)) {
                wrong.push("snapshot: its mirror is no http:// or https:// address".to_owned());
            }
        }
        if let Err(error) = self.size() {
            wrong.push(format!("disk: {error}"));
        }
        for file in &self.files {
            let inside = file.path.starts_with('/')
                && !file.path.ends_with('/')
                && !file.path.split('/').any(|part| part == "..");
            if !inside {
                wrong.push(format!("files: '{}' is no absolute path", file.path));
            }
            if file.content.is_some() == file.source.is_some() {
                wrong.push(format!("files: {} needs content or source, and one only", file.path));
            }
            if let Err(error) = file.mode() {
                wrong.push(format!("files: {}: {error}", file.path));
            }
        }
        if !wrong.is_empty() {
            bail!("{}", wrong.join("; "));
        }
        Ok(())
    }

    /// What the source means.
    pub(super) fn origin(&self) -> Result<Origin<'_>> {
        let source = &self.source;
        if source.suite.is_none() {
            if source.mirror.is_some() || source.keyring.is_some() {
                bail!(
                    "mirror and keyring belong to a suite; an image's packages come from snapshot"
                );
            }
            if !self.packages.is_empty() && self.snapshot.is_none() {
                bail!("packages for an upstream image need a snapshot to come from");
            }
        }
        match (source.image.as_deref(), source.catalog.as_deref(), source.suite.as_deref()) {
            (None, Some(name), None) => {
                if source.checksum.is_some() {
                    bail!("the entry '{name}' of the catalog has its checksum; leave it out here");
                }
                let pinned = source.pinned.as_ref();
                let pinned =
                    pinned.with_context(|| format!("'{name}' was not looked up in a catalog"))?;
                Ok(Origin::Image { place: &pinned.url, checksum: pinned.checksum.clone() })
            }
            (Some(image), None, None) => {
                if image.split('/').any(|part| part == "latest") {
                    bail!("{} is a moving target; name a dated build", shown(image));
                }
                let Some(checksum) = &source.checksum else {
                    bail!(
                        "{} has no checksum; take it from its publisher's SHA512SUMS",
                        shown(image)
                    );
                };
                Ok(Origin::Image { place: image, checksum: checksum.parse()? })
            }
            (None, None, Some(suite)) => {
                if source.checksum.is_some() {
                    bail!("a checksum belongs to an image; packages are signed");
                }
                if self.snapshot.is_some() {
                    bail!(
                        "with a suite all packages come from its mirror; name the dated one there"
                    );
                }
                if suite.is_empty() || !plain(suite, "-") {
                    bail!("'{suite}' is not a suite");
                }
                if source.mirror.as_ref().is_some_and(|mirror| !is_mirror(mirror)) {
                    bail!("its mirror is no http:// or https:// address");
                }
                let (mirror, keyring) = (source.mirror.as_deref(), source.keyring.as_deref());
                Ok(Origin::Packages { suite, mirror, keyring })
            }
            _ => bail!(
                "needs either image (with checksum), catalog (the name of an entry) or suite (with \
                 mirror)"
            ),
        }
    }

    /// The size of the disk in bytes.
    pub(super) fn size(&self) -> Result<Option<u64>> {
        let Some(text) = &self.disk else { return Ok(None) };
        let units = [('M', MIB), ('G', 1 << 30), ('T', 1 << 40)];
        let unit =
            text.chars().last().and_then(|last| units.iter().find(|(unit, _)| *unit == last));
        let size = unit.and_then(|(unit, bytes)| {
            text.strip_suffix(*unit)?.parse::<u64>().ok()?.checked_mul(*bytes)
        });
        match size.filter(|size| *size > 0) {
            Some(size) => Ok(Some(size)),
            None => bail!("'{text}' is no size, which is 3G or 2943M"),
        }
    }
}

impl Content {
    pub(super) fn mode(&self) -> Result<u32> {
        let text = self.mode.as_deref().unwrap_or("0644");
        match u32::from_str_radix(text, 8) {
            Ok(mode) if mode <= 0o7777 && text.len() <= 5 => Ok(mode),
            _ => bail!("'{text}' is no mode, which is \"0644\""),
        }
    }
}

pub(super) fn is_address(place: &str) -> bool {
    place.starts_with("http://") || place.starts_with("https://")
}

/// It becomes a word in a line of apt's sources.
fn is_mirror(mirror: &str) -> bool {
    is_address(mirror) && !mirror.contains(|c: char| c.is_whitespace() || c == '[' || c == ']')
}

fn is_snapshot_id(id: &str) -> bool {
    let pattern = "dddddddd'T'dddddd'Z'".replace('\'', "");
    id.len() == pattern.len()
        && id
            .chars()
            .zip(pattern.chars())
            .all(|(c, p)| if p == 'd' { c.is_ascii_digit() } else { c == p })
}

fn plain(text: &str, more: &str) -> bool {
    text.chars().all(|c| c.is_ascii_alphanumeric() || more.contains(c))
}
