//! How publishers lay out what they publish.

use super::entry::{Entry, EntryError, Publisher, Variant};
use super::serial::Serial;
use crate::schematic;

/// Debian's releases by their code names; the file's name has the number.
const DEBIAN: [(&str, &str); 4] =
    [("bullseye", "11"), ("bookworm", "12"), ("trixie", "13"), ("forky", "14")];
/// Ubuntu's releases by their code names.
const UBUNTU: [(&str, &str); 5] = [
    ("jammy", "22.04"),
    ("noble", "24.04"),
    ("plucky", "25.04"),
    ("questing", "25.10"),
    ("resolute", "26.04"),
];

/// Where the builds of one image are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    publisher: Publisher,
    base: String,
    /// The file's name with `{}` for the build.
    published: String,
    /// The folder of all builds.
    folder: String,
    /// What it is called here, with `{}` for the build.
    name: String,
    /// The version of Talos, which stands for the build.
    release: String,
}

impl Layout {
    pub(crate) fn of(entry: &Entry) -> Result<Self, EntryError> {
        let Entry { publisher, release, arch, .. } = entry;
        if !matches!(arch.as_str(), "amd64" | "arm64") {
            return Err(EntryError::new("arch", format!("'{arch}' is none of amd64 and arm64")));
        }
        foreign_keys(entry)?;
        let base = match &entry.mirror {
            Some(mirror) => address(mirror)?,
            None => publisher.base().to_owned(),
        };
        let known = |releases: &[(&str, &'static str)]| {
            releases.iter().find(|(code, _)| code == release).map(|(_, number)| *number).ok_or_else(
                || {
                    let codes: Vec<&str> = releases.iter().map(|(code, _)| *code).collect();
                    let codes = codes.join(", ");
                    EntryError::new("release", format!("'{release}' is none of {codes}"))
                },
            )
        };
        let (published, folder, name) = match publisher {
            Publisher::Debian => {
                let variant = entry.variant.unwrap_or(Variant::Genericcloud).word();
                let name = format!("debian-{}-{variant}-{arch}-{{}}.qcow2", known(&DEBIAN)?);
                (name.clone(), release.clone(), name)
            }
            Publisher::Ubuntu => {
                let file = format!("ubuntu-{}-server-cloudimg-{arch}", known(&UBUNTU)?);
                // what Ubuntu calls .img is a qcow2
                (format!("{file}.img"), release.clone(), format!("{file}-{{}}.qcow2"))
            }
            Publisher::Talos => {
                let id = schematic_of(entry)?;
                let file = format!("nocloud-{arch}.raw");
                let name = format!("talos-{{}}-nocloud-{arch}-{}.raw", &id[..8]);
                (file, format!("image/{id}"), name)
            }
        };
        let release = release.clone();
        Ok(Self { publisher: *publisher, base, published, folder, name, release })
    }

    /// The build that an entry names.
    pub(crate) fn serial(&self, given: Option<&str>) -> Result<Serial, EntryError> {
        let (key, given, example) = match self.publisher {
            Publisher::Debian => ("serial", given, "20251117-2299"),
            Publisher::Ubuntu => ("serial", given, "20251113"),
            Publisher::Talos => {
                if given.is_some() {
                    let problem = "Talos has none, its release is a version";
                    return Err(EntryError::new("serial", problem));
                }
                let release = &self.release;
                return self.read(release).ok_or_else(|| {
                    let problem = format!("'{release}' is no version of Talos, such as v1.11.5");
                    EntryError::new("release", problem)
                });
            }
        };
        let Some(given) = given else {
            let problem = format!("it is missing: the dated build, such as {example}");
            return Err(EntryError::new(key, problem));
        };
        self.read(given).ok_or_else(|| {
            let problem = format!(
                "'{given}' is no dated build, such as {example}: what is published anew under the \
                 same name cannot be pinned"
            );
            EntryError::new(key, problem)
        })
    }

    /// A build as this publisher names them.
    pub(crate) fn read(&self, text: &str) -> Option<Serial> {
        match self.publisher {
            Publisher::Debian => Serial::debian(text),
            Publisher::Ubuntu => Serial::ubuntu(text),
            Publisher::Talos => Serial::talos(text),
        }
    }

    /// The builds that a page of this publisher lists, the newest first.
    pub(crate) fn listed(&self, page: &str) -> Vec<Serial> {
        let mut serials: Vec<Serial> = if self.publisher == Publisher::Talos {
            let versions: Vec<String> = serde_json::from_str(page).unwrap_or_default();
            versions.iter().filter_map(|version| self.read(version)).collect()
        } else {
            let links = page.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next());
            let folders = links.filter_map(|link| link.strip_suffix('/'));
            let builds = folders.filter_map(|folder| folder.strip_prefix(self.prefix()));
            builds.filter_map(|build| self.read(build)).collect()
        };
        serials.retain(Serial::is_released);
        serials.sort_by(|a, b| b.cmp(a));
        serials.dedup();
        serials
    }

    /// The address of the list of builds.
    pub(crate) fn list(&self) -> String {
        match self.publisher {
            Publisher::Talos => format!("{}/versions", self.base),
            _ => format!("{}/{}/", self.base, self.folder),
        }
    }

    /// The address of a build's checksums, and that of their signature; the factory of Talos
    /// publishes none.
    pub(crate) fn sums(&self, serial: &Serial) -> Option<(String, Option<String>)> {
        let folder = self.folder_of(serial);
        match self.publisher {
            Publisher::Debian => Some((format!("{folder}/SHA512SUMS"), None)),
            Publisher::Ubuntu => {
                let sums = format!("{folder}/SHA256SUMS");
                Some((sums.clone(), Some(format!("{sums}.gpg"))))
            }
            Publisher::Talos => None,
        }
    }

    /// The file's name as it is published.
    pub(crate) fn published(&self, serial: &Serial) -> String {
        self.published.replace("{}", &serial.to_string())
    }

    /// Where the file is.
    pub(crate) fn url(&self, serial: &Serial) -> String {
        format!("{}/{}", self.folder_of(serial), self.published(serial))
    }

    /// What the file is called here.
    pub(crate) fn name(&self, serial: &Serial) -> String {
        self.name.replace("{}", &serial.to_string())
    }

    fn folder_of(&self, serial: &Serial) -> String {
        format!("{}/{}/{}{serial}", self.base, self.folder, self.prefix())
    }

    /// What stands before a build in the name of its folder.
    fn prefix(&self) -> &'static str {
        match self.publisher {
            Publisher::Ubuntu => "release-",
            Publisher::Debian | Publisher::Talos => "",
        }
    }
}

impl Publisher {
    /// Where it publishes.
    #[must_use]
    pub fn base(self) -> &'static str {
        match self {
            Self::Debian => "https://cloud.debian.org/images/cloud",
            // daily builds are removed after some weeks, releases are kept
            Self::Ubuntu => "https://cloud-images.ubuntu.com/releases",
            Self::Talos => "https://factory.talos.dev",
        }
    }
}

/// Keys that only some publishers have.
fn foreign_keys(entry: &Entry) -> Result<(), EntryError> {
    if entry.publisher != Publisher::Talos {
        for (key, given) in
            [("schematic", entry.schematic.is_some()), ("extensions", !entry.extensions.is_empty())]
        {
            if given {
                return Err(EntryError::new(key, "only Talos has it"));
            }
        }
    }
    if entry.publisher != Publisher::Debian && entry.variant.is_some() {
        return Err(EntryError::new("variant", "only Debian has it"));
    }
    Ok(())
}

/// The address of a mirror, without a slash at its end.
fn address(mirror: &str) -> Result<String, EntryError> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| mirror.strip_prefix(scheme));
    let fits = rest.is_some_and(|rest| {
        !rest.is_empty() && !rest.starts_with('/') && !rest.contains(['?', '#', '@', ' ', '"'])
    });
    if !fits || mirror.chars().any(char::is_whitespace) {
        // what stands before @ may be a password
        let shown = mirror.rsplit_once('@').map_or(mirror, |(_, rest)| rest);
        let problem = format!("'{shown}' is no address of a mirror, such as https://mirror/cloud");
        return Err(EntryError::new("mirror", problem));
    }
    Ok(mirror.trim_end_matches('/').to_owned())
}

/// The id of the schematic: as it is given, since there are published ones that follow from no
/// rule, or by the rule.
fn schematic_of(entry: &Entry) -> Result<String, EntryError> {
    match &entry.schematic {
        Some(_) if !entry.extensions.is_empty() => {
            Err(EntryError::new("schematic", "give it or extensions, not both"))
        }
        Some(id) if id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            Ok(id.to_ascii_lowercase())
        }
        Some(id) => {
            Err(EntryError::new("schematic", format!("'{id}' is no id: 64 hexadecimal digits")))
        }
        None => schematic::of_extensions(&entry.extensions)
            .map_err(|error| EntryError::new("extensions", error.to_string())),
    }
}
