//! What can be told wrong without asking anyone.

use std::collections::BTreeMap;

use ansible_module::Failure;
use ipnet::IpNet;
use pve_types::{Setting, VolId, slot};

use crate::params::{Params, State};
use crate::plan::cloudinit::disks;
use crate::plan::create::is_drive;
use crate::plan::disk::{DiskWant, Source};
use crate::plan::net;
use crate::wanted::{Want, at, wanted};

/// The endings that PVE knows for images to import.
const IMPORT_ENDINGS: [&str; 4] = ["qcow2", "raw", "vmdk", "ova"];

/// Checks what a task asks for.
///
/// # Errors
/// Names the option, what was given and what is allowed.
pub(crate) fn check(params: &Params) -> Result<(), Failure> {
    params.connection.check()?;
    if let Some(name) = &params.name {
        name_of(name)?;
    }
    source(params)?;
    let wanted = wanted(params)?;
    for (key, want) in &wanted {
        match want {
            Want::Options(options) if is_drive(key) => {
                DiskWant::new(key, options)?;
            }
            Want::Options(options) => sub_options(key, options)?,
            Want::Text(_) | Want::Remove => {}
        }
    }
    if let Some(image) = &params.image {
        import("image", image)?;
    }
    for (key, disk) in disks(&wanted) {
        match &disk.source {
            Source::Disk { import: Some(source), .. } => {
                import(&format!("{key}: import_from"), source)?;
            }
            Source::Exactly(file) => iso(key, file)?,
            _ => {}
        }
    }
    Ok(())
}

/// What is said of a source that cannot be had together.
fn source(params: &Params) -> Result<(), Failure> {
    let wrong = |text: &str| Err(Failure::new(text));
    if params.clone.is_some() && !params.full {
        if params.storage.is_some() {
            return wrong(
                "storage: the disks of a linked copy are where those of its template are: set \
                 full to true, or leave storage out",
            );
        }
        if params.format.is_some() {
            return wrong(
                "format: the disks of a linked copy have the format that their storage gives \
                 them: set full to true, or leave format out",
            );
        }
    }
    if params.snapname.is_some() && params.clone.is_none() {
        return wrong("snapname: it is the snapshot of a machine to copy, and clone is not given");
    }
    if params.unique && params.archive.is_none() {
        return wrong(
            "unique: it is about a machine restored from a backup, and archive is not given",
        );
    }
    if params.archive.as_ref().is_some_and(|archive| archive.content() != Some("backup")) {
        return wrong(
            "archive: it is no backup: give its volume, for example \
             local:backup/vzdump-qemu-100-2026_01_31-00_00_00.vma.zst",
        );
    }
    if params.template
        && !matches!(
            params.state,
            State::Present | State::Template | State::Absent | State::Current
        )
    {
        return wrong("template: a template does not run: set state to present or template");
    }
    Ok(())
}

/// PVE takes a DNS name: no underscore.
fn name_of(name: &str) -> Result<(), Failure> {
    let label = |part: &str| {
        let edge = |byte: Option<u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric());
        edge(part.bytes().next())
            && edge(part.bytes().last())
            && part.len() <= 63
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    if name.split('.').all(label) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "name: '{name}' is not a DNS name: letters, digits and '-', parts joined by '.'"
    )))
}

fn sub_options(key: &str, options: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
    let get = |name: &str| options.get(name).and_then(Option::as_deref);
    match slot(key) {
        Some(("net", _)) => return net::check(key, options),
        Some(("ipconfig", _)) => {
            for (name, words) in [("ip", ["dhcp", "dhcp"]), ("ip6", ["dhcp", "auto"])] {
                let Some(text) = get(name).filter(|text| !words.contains(text)) else { continue };
                if !text.contains('/') || text.parse::<IpNet>().is_err() {
                    let text = format!(
                        "{key}: {name} '{text}' is not an address with its prefix length, for \
                         example 10.0.0.5/24, and not {}",
                        words[1]
                    );
                    return Err(Failure::new(text));
                }
            }
            for (gateway, address) in [("gw", "ip"), ("gw6", "ip6")] {
                if let (Some(text), None) = (get(gateway), get(address)) {
                    return Err(Failure::new(format!(
                        "{key}: {gateway} '{text}' is of use with {address} only: give both"
                    )));
                }
            }
        }
        _ => {}
    }
    if let (Setting::Line(_), "memory", Some(text)) = (Setting::of(key), key, get("current"))
        && !text.parse::<u64>().is_ok_and(|mib| mib >= 16)
    {
        return Err(Failure::new(format!("memory: '{text}' is not a number of MiB from 16 up")));
    }
    Ok(())
}

/// An image is a volume of content `import`, or of another machine's disks.
fn import(option: &str, text: &str) -> Result<(), Failure> {
    if text.starts_with('/') {
        return Err(Failure::new(format!(
            "{option}: '{text}' is a path on the node, which only root@pam with a password may \
             give: upload the file to a storage with content import, and give it as \
             STORAGE:import/FILE"
        )));
    }
    let volid: VolId = text.parse().map_err(|error| at(option, &error))?;
    match volid.content() {
        None => Ok(()),
        Some("import") => {
            let ending = volid.file_name().rsplit_once('.').map(|(_, ending)| ending);
            if ending.is_some_and(|ending| IMPORT_ENDINGS.contains(&ending)) {
                return Ok(());
            }
            Err(Failure::new(format!(
                "{option}: '{text}' cannot be imported: the file must end in .{}; PVE does not \
                 unpack compressed images here",
                IMPORT_ENDINGS.join(", .")
            )))
        }
        Some(content) => Err(Failure::new(format!(
            "{option}: '{text}' has content {content}, and a disk is made from content import or \
             images"
        ))),
    }
}

fn iso(key: &str, file: &str) -> Result<(), Failure> {
    let Ok(volid) = file.parse::<VolId>() else { return Ok(()) };
    let ending = volid.file_name().rsplit_once('.').map(|(_, ending)| ending.to_ascii_lowercase());
    if volid.content() == Some("iso") && !matches!(ending.as_deref(), Some("iso" | "img")) {
        return Err(Failure::new(format!(
            "{key}: '{file}' is no ISO file: it must end in .iso or .img"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::params;
    use serde_json::{Value, json};

    fn message(args: &Value) -> String {
        check(&params(args)).err().map(|failure| failure.message().to_owned()).unwrap_or_default()
    }

    #[test]
    fn b34_b35_b36_b38_images() {
        for (image, text) in [
            ("local:import/debian-13.qcow2", ""),
            ("local:import/x.raw", ""),
            ("local:import/x.vmdk", ""),
            ("local:import/x.ova", ""),
            ("local:100/vm-100-disk-0.raw", ""),
            ("local:import/debian-13.img", "must end in .qcow2, .raw, .vmdk, .ova"),
            ("local:import/x.raw.xz", "PVE does not unpack compressed images here"),
            ("local:iso/debian.img", "has content iso, and a disk is made from content import"),
            ("/var/lib/vz/images/0/x.img", "is a path on the node"),
            ("debian", "'debian' is not a volume"),
        ] {
            let message = message(&json!({"image": image}));
            assert!(message.contains(text) && message.is_empty() == text.is_empty(), "{message}");
            let disk = json!({"scsi": {"scsi0": {"storage": "local", "import_from": image}}});
            assert!(self::message(&disk).contains(text), "{image}");
        }
        let message = message(&json!({"ide": {"ide2": "local:iso/x.qcow2"}}));
        assert!(message.contains("ide2: 'local:iso/x.qcow2' is no ISO file"), "{message}");
    }

    #[test]
    fn values_that_pve_would_refuse() {
        for (args, text) in [
            (json!({"name": "web_1"}), "name: 'web_1' is not a DNS name"),
            (json!({"net": {"net0": {"macaddr": "zz"}}}), "net0: 'zz' is not a MAC address"),
            (
                json!({"net": {"net0": "virtio=01:00:5E:00:00:01"}}),
                "is no address for an interface",
            ),
            (
                json!({"net": {"net0": {"tag": 4095}}}),
                "net0: tag '4095' is not a whole number from 1 to 4094",
            ),
            (json!({"ipconfig": {"ipconfig0": "ip=10.0.0.5"}}), "ipconfig0: ip '10.0.0.5' is not"),
            (json!({"ipconfig": {"ipconfig0": {"ip6": "slaac"}}}), "and not auto"),
            (json!({"ipconfig": {"ipconfig0": "gw=10.0.0.1"}}), "ipconfig0: gw '10.0.0.1' is of"),
            (json!({"scsi": {"scsi0": "local:-1"}}), "scsi0: '-1' is neither a size in GiB nor a"),
            (
                json!({"scsi": {"scsi0": {"storage": "local", "size": 0}}}),
                "scsi0: a disk of size 0 cannot be made",
            ),
            (
                json!({"scsi": {"scsi0": {"storage": "local", "size": 10_737_418_240_u64}}}),
                "scsi0: size 10737418240 is a number of GiB without its unit: give one",
            ),
            (
                json!({"scsi": {"scsi0": "local:10737418240"}}),
                "scsi0: local:10737418240 asks for a disk of 10737418240 GiB",
            ),
            (
                json!({"unused": {"unused0": "local:1"}}),
                "unused0: it is a volume that no drive uses, and none is made for it",
            ),
            (json!({"memory": "2G"}), "memory: '2G' is not a number of MiB"),
            (json!({"scsi": {"scsi0": {"storage": "l!", "size": "8G"}}}), "'l!' is not a storage"),
            (json!({"scsi": {"scsi0": {"storage": "local", "size": "8GB"}}}), "is not a size"),
            (
                json!({"scsi": {"scsi0": {"storage": "local", "file": "local:8"}}}),
                "scsi0: give either storage and size or the volume",
            ),
            (json!({"api_token_secret": ""}), "has no secret"),
        ] {
            let message = message(&args);
            assert!(message.contains(text), "{message}");
        }
        assert_eq!(message(&json!({"name": "web-1.example.com", "memory": 512})), "");
    }
}
