//! The id of a schematic of the Talos Image Factory: the SHA-256 of the customisation, written as
//! YAML with four blanks for each level and the keys in the factory's order.
//!
//! The factory writes text into YAML by rules of its own where it needs quotation marks. Text that
//! stands there as it is gives an id here; other text is refused, since a wrong id would name
//! another image or none.

use serde::Deserialize;
use sha2::{Digest, Sha256};
use thiserror::Error;

use crate::checksum::hex;

/// What an image is to have beyond the usual.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Schematic {
    /// The overlay of a single-board computer.
    #[serde(default)]
    pub overlay: Option<Overlay>,
    /// The customisation.
    #[serde(default)]
    pub customization: Customization,
}

/// The overlay of a single-board computer.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overlay {
    /// Its image.
    pub image: String,
    /// Its name.
    pub name: String,
}

/// The customisation of an image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct Customization {
    /// Arguments of the kernel.
    pub extra_kernel_args: Vec<String>,
    /// Extensions of the system.
    pub system_extensions: SystemExtensions,
    /// Secure boot.
    pub secureboot: SecureBoot,
}

/// Extensions of the system.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SystemExtensions {
    /// Those that Talos publishes.
    pub official_extensions: Vec<String>,
}

/// Secure boot.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase", default)]
pub struct SecureBoot {
    /// Whether the certificates that machines have anyway are enrolled.
    pub include_well_known_certificates: bool,
}

/// Text of which the id cannot be told here.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error(
    "'{0}' needs quotation marks in YAML, and the factory has its own rules for them: let the \
     factory tell the id and give that"
)]
pub struct Unsure(String);

impl Schematic {
    /// The id.
    ///
    /// # Errors
    /// When text in it is not certain to be written as it is.
    pub fn id(&self) -> Result<String, Unsure> {
        Ok(hex(&Sha256::digest(self.yaml()?.as_bytes())))
    }

    /// The customisation as the factory writes it.
    ///
    /// # Errors
    /// When text in it is not certain to be written as it is.
    pub fn yaml(&self) -> Result<String, Unsure> {
        let mut lines = Vec::new();
        if let Some(Overlay { image, name }) = &self.overlay {
            lines.push("overlay:".to_owned());
            lines.push(format!("    image: {}", plain(image)?));
            lines.push(format!("    name: {}", plain(name)?));
        }
        let before = lines.len();
        lines.push("customization:".to_owned());
        let Customization { extra_kernel_args, system_extensions, secureboot } =
            &self.customization;
        if !extra_kernel_args.is_empty() {
            lines.push("    extraKernelArgs:".to_owned());
            items(&mut lines, 8, extra_kernel_args)?;
        }
        if !system_extensions.official_extensions.is_empty() {
            lines.push("    systemExtensions:".to_owned());
            lines.push("        officialExtensions:".to_owned());
            items(&mut lines, 12, &system_extensions.official_extensions)?;
        }
        if secureboot.include_well_known_certificates {
            lines.push("    secureboot:".to_owned());
            lines.push("        includeWellKnownCertificates: true".to_owned());
        }
        if lines.len() == before + 1 {
            lines[before].push_str(" {}");
        }
        lines.push(String::new());
        Ok(lines.join("\n"))
    }
}

/// The id of the schematic that has these extensions and nothing else.
pub(crate) fn of_extensions(extensions: &[String]) -> Result<String, Unsure> {
    let mut schematic = Schematic::default();
    schematic.customization.system_extensions.official_extensions = extensions.to_vec();
    schematic.id()
}

fn items(lines: &mut Vec<String>, indent: usize, texts: &[String]) -> Result<(), Unsure> {
    for text in texts {
        lines.push(format!("{:indent$}- {}", "", plain(text)?));
    }
    Ok(())
}

/// Text that is written without quotation marks for certain: it begins with a letter, has nothing
/// that YAML gives a meaning to, and is no word that YAML takes for something else.
fn plain(text: &str) -> Result<&str, Unsure> {
    let begins = text.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic());
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"/_.=,+@-".contains(&byte);
    let words = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];
    let word = words.contains(&text.to_ascii_lowercase().as_str());
    // colons are plain between other characters
    let colons = !text.ends_with(':') && text.bytes().all(|byte| byte == b':' || fits(byte));
    if begins && colons && !word { Ok(text) } else { Err(Unsure(text.to_owned())) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn schematic(value: Value) -> Schematic {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn ids_are_those_of_the_factory() {
        for (value, id) in [
            (json!({}), "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"),
            (
                json!({"customization": {}}),
                "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba",
            ),
            (
                json!({"customization": {"systemExtensions": {"officialExtensions": []}}}),
                "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba",
            ),
            (
                json!({"customization": {"systemExtensions": {"officialExtensions": ["siderolabs/qemu-guest-agent"]}}}),
                "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515",
            ),
        ] {
            assert_eq!(schematic(value).id().unwrap(), id);
        }
    }

    #[test]
    fn keys_are_in_the_factorys_order() {
        let all = schematic(json!({
            "customization": {
                "secureboot": {"includeWellKnownCertificates": true},
                "systemExtensions": {"officialExtensions": ["siderolabs/gvisor", "siderolabs/amd-ucode"]},
                "extraKernelArgs": ["vga=791", "console=ttyS0,115200"],
            },
            "overlay": {"name": "rpi_generic", "image": "siderolabs/sbc-raspberrypi"},
        }));
        let expected = "overlay:\n    image: siderolabs/sbc-raspberrypi\n    name: rpi_generic\n\
            customization:\n    extraKernelArgs:\n        - vga=791\n        - console=ttyS0,115200\n    \
            systemExtensions:\n        officialExtensions:\n            - siderolabs/gvisor\n            \
            - siderolabs/amd-ucode\n    secureboot:\n        includeWellKnownCertificates: true\n";
        assert_eq!(all.yaml().unwrap(), expected);
    }

    #[test]
    fn what_would_be_quoted_is_not_guessed() {
        for text in ["", "yes", "null", "a: b", "a #b", "1.5", "-x", "{}", "a:", "a b", "ä", "a\nb"]
        {
            let error = of_extensions(&[text.to_owned()]).unwrap_err().to_string();
            assert!(error.starts_with(&format!("'{text}' needs quotation marks")), "{error}");
        }
        for value in [
            json!({"customisation": {}}),
            json!({"customization": {"meta": [{"key": 10, "value": "{}"}]}}),
        ] {
            let error = serde_json::from_value::<Schematic>(value).unwrap_err().to_string();
            assert!(error.starts_with("unknown field"), "{error}");
        }
    }
}
