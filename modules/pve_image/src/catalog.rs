//! Images that others publish, pinned by a dated release and a checksum: where they are, and what
//! they are called here. An address that is published anew is no pin, and `latest` is refused.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checksum::Checksum;

/// An entry of the catalog.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// Who publishes the image.
    pub(crate) publisher: Publisher,
    /// The release by its code name (V(trixie), V(noble)), or the version of Talos (V(v1.11.5)).
    pub(crate) release: String,
    /// The dated build: V(20251117-2299) of Debian, V(20251113) of Ubuntu. Talos has none.
    #[serde(default)]
    pub(crate) serial: Option<String>,
    /// The architecture.
    #[serde(default = "amd64")]
    pub(crate) arch: String,
    /// The id of Talos's schematic. Without it that of O(catalog.extensions) is taken.
    #[serde(default)]
    pub(crate) schematic: Option<String>,
    /// The official extensions of Talos that the image has, for example
    /// V(siderolabs/qemu-guest-agent).
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
    /// The checksum of the file as it is published, V(sha256:...) or V(sha512:...).
    pub(crate) checksum: String,
}

/// Who publishes images.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Publisher {
    /// Debian's generic cloud images. They have no guest agent.
    Debian,
    /// Ubuntu's cloud images.
    Ubuntu,
    /// Talos Linux, by its image factory.
    Talos,
}

fn amd64() -> String {
    "amd64".to_owned()
}

/// An image that can be fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pinned {
    /// Where it is.
    pub(crate) url: String,
    /// What it is called, with its date and the ending of its format.
    pub(crate) name: String,
    /// The checksum of the file as it is published.
    pub(crate) checksum: Checksum,
}

/// Debian's releases by their code names; the file's name has the number.
const DEBIAN: [(&str, u32); 4] =
    [("bullseye", 11), ("bookworm", 12), ("trixie", 13), ("forky", 14)];

impl Entry {
    /// Where the image is, and what it is called.
    ///
    /// # Errors
    /// Names the key and what would be right.
    pub(crate) fn pinned(&self) -> Result<Pinned, String> {
        let checksum = self.checksum.parse().map_err(|error| format!("checksum: {error}"))?;
        let Self { release, arch, .. } = self;
        if !matches!(arch.as_str(), "amd64" | "arm64") {
            return Err(format!("arch: '{arch}' is none of amd64 and arm64"));
        }
        if self.publisher != Publisher::Talos
            && (self.schematic.is_some() || !self.extensions.is_empty())
        {
            return Err("schematic and extensions: only Talos has them".to_owned());
        }
        let (url, name) = match self.publisher {
            Publisher::Debian => {
                let Some((_, number)) = DEBIAN.iter().find(|(code, _)| code == release) else {
                    let codes = DEBIAN.map(|(code, _)| code).join(", ");
                    return Err(format!("release: '{release}' is none of {codes}"));
                };
                let serial = self.serial("20251117-2299", |serial| {
                    let parts = serial.split_once('-');
                    parts.is_some_and(|(day, build)| is_day(day) && is_number(build))
                })?;
                let name = format!("debian-{number}-genericcloud-{arch}-{serial}.qcow2");
                let folder = "https://cloud.debian.org/images/cloud";
                (format!("{folder}/{release}/{serial}/{name}"), name)
            }
            Publisher::Ubuntu => {
                if release.is_empty() || !release.bytes().all(|byte| byte.is_ascii_lowercase()) {
                    return Err(format!("release: '{release}' is no code name, such as noble"));
                }
                let serial = self.serial("20251113", |serial| {
                    let (day, build) = serial.split_once('.').unwrap_or((serial, "1"));
                    is_day(day) && is_number(build)
                })?;
                let file = format!("{release}-server-cloudimg-{arch}");
                let url = format!("https://cloud-images.ubuntu.com/{release}/{serial}/{file}.img");
                // what Ubuntu calls .img is a qcow2
                (url, format!("{file}-{serial}.qcow2"))
            }
            Publisher::Talos => {
                if self.serial.is_some() {
                    return Err("serial: Talos has none, its release is a version".to_owned());
                }
                let id = self.schematic()?;
                if !is_version(release) {
                    return Err(format!(
                        "release: '{release}' is no version of Talos, such as v1.11.5"
                    ));
                }
                let url =
                    format!("https://factory.talos.dev/image/{id}/{release}/nocloud-{arch}.raw");
                (url, format!("talos-{release}-nocloud-{arch}-{}.raw", &id[..8]))
            }
        };
        Ok(Pinned { url, name, checksum })
    }

    fn serial(&self, example: &str, fits: impl Fn(&str) -> bool) -> Result<&str, String> {
        match self.serial.as_deref() {
            Some(serial) if fits(serial) => Ok(serial),
            Some(serial) => Err(format!(
                "serial: '{serial}' is no dated build, such as {example}: what is published anew \
                 under the same name cannot be pinned"
            )),
            None => Err(format!("serial: it is missing: the dated build, such as {example}")),
        }
    }

    /// The id of the schematic: as it is given, since there are published ones that follow from no
    /// rule, or by the rule.
    fn schematic(&self) -> Result<String, String> {
        match &self.schematic {
            Some(_) if !self.extensions.is_empty() => {
                Err("schematic and extensions: give one of them".to_owned())
            }
            Some(id) if id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
                Ok(id.to_ascii_lowercase())
            }
            Some(id) => Err(format!("schematic: '{id}' is no id: 64 hexadecimal digits")),
            None => Ok(schematic_id(&self.extensions)),
        }
    }
}

/// The SHA-256 of the customisation, as YAML with four blanks for each level.
fn schematic_id(extensions: &[String]) -> String {
    let mut text = "customization: {}\n".to_owned();
    if !extensions.is_empty() {
        text = "customization:\n    systemExtensions:\n        officialExtensions:\n".to_owned();
        for extension in extensions {
            text.push_str(&format!("            - {extension}\n"));
        }
    }
    Sha256::digest(text.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_day(text: &str) -> bool {
    text.len() == 8 && is_number(text) && text.starts_with("20")
}

/// `v1.11.5`, or with more after a dash.
fn is_version(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('v') else { return false };
    let (numbers, more) = rest.split_once('-').unwrap_or((rest, "x"));
    numbers.split('.').count() == 3
        && numbers.split('.').all(is_number)
        && !more.is_empty()
        && more.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn pinned(keys: Value) -> Result<Pinned, String> {
        let sum = format!("sha512:{}", "ab".repeat(64));
        let mut all = json!({"checksum": sum});
        for (key, value) in keys.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value::<Entry>(all).unwrap().pinned()
    }

    #[test]
    fn entries_say_where_and_what() {
        let agent = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515";
        let given = "53513e54bb39202f35694412577a6bc53d484744d35a126e5d42ef34785c0d83";
        for (keys, url, name) in [
            (
                json!({"publisher": "debian", "release": "trixie", "serial": "20251117-2299"}),
                "https://cloud.debian.org/images/cloud/trixie/20251117-2299/\
                 debian-13-genericcloud-amd64-20251117-2299.qcow2"
                    .to_owned(),
                "debian-13-genericcloud-amd64-20251117-2299.qcow2",
            ),
            (
                json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "arch": "arm64"}),
                "https://cloud-images.ubuntu.com/noble/20251113/noble-server-cloudimg-arm64.img"
                    .to_owned(),
                "noble-server-cloudimg-arm64-20251113.qcow2",
            ),
            (
                json!({"publisher": "talos", "release": "v1.11.5",
                       "extensions": ["siderolabs/qemu-guest-agent"]}),
                format!("https://factory.talos.dev/image/{agent}/v1.11.5/nocloud-amd64.raw"),
                "talos-v1.11.5-nocloud-amd64-ce4c9805.raw",
            ),
            (
                json!({"publisher": "talos", "release": "v1.12.0-beta.1", "schematic": given}),
                format!("https://factory.talos.dev/image/{given}/v1.12.0-beta.1/nocloud-amd64.raw"),
                "talos-v1.12.0-beta.1-nocloud-amd64-53513e54.raw",
            ),
        ] {
            let pinned = pinned(keys).unwrap();
            assert_eq!((pinned.url, pinned.name.as_str()), (url, name));
        }
        assert_eq!(
            schematic_id(&[]),
            "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
        );
    }

    #[test]
    fn a_moving_target_is_no_pin() {
        for (keys, text) in [
            (json!({"publisher": "debian", "release": "trixie"}), "serial: it is missing"),
            (
                json!({"publisher": "debian", "release": "trixie", "serial": "latest"}),
                "'latest' is no dated build, such as 20251117-2299",
            ),
            (
                json!({"publisher": "debian", "release": "trixie", "serial": "20251117"}),
                "'20251117' is no dated build",
            ),
            (
                json!({"publisher": "ubuntu", "release": "noble", "serial": "current"}),
                "'current' is no dated build, such as 20251113",
            ),
            (
                json!({"publisher": "debian", "release": "sid", "serial": "20251117-2299"}),
                "'sid' is none of bullseye, bookworm, trixie, forky",
            ),
            (json!({"publisher": "talos", "release": "latest"}), "'latest' is no version of Talos"),
            (
                json!({"publisher": "talos", "release": "v1.11.5", "schematic": "ce4c"}),
                "'ce4c' is no id",
            ),
            (
                json!({"publisher": "talos", "release": "v1.11.5", "serial": "20251117"}),
                "Talos has none",
            ),
            (
                json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "extensions": ["x"]}),
                "only Talos has them",
            ),
            (
                json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "checksum": "sha256:1"}),
                "checksum: 'sha256:1' is no checksum",
            ),
            (
                json!({"publisher": "ubuntu", "release": "no/../ble", "serial": "20251113"}),
                "is no code name",
            ),
            (
                json!({"publisher": "ubuntu", "release": "noble", "serial": "20251113", "arch": "x86"}),
                "'x86' is none of amd64 and arm64",
            ),
        ] {
            let refused = pinned(keys).unwrap_err();
            assert!(refused.contains(text), "{refused}");
        }
    }
}
