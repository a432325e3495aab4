//! Making and removing the volumes of a guest.

use super::super::super::size;
use crate::driver::VolumeFormat;
use crate::shared::Shared;
use crate::state::State;
use crate::state::guest::Drive;
use crate::state::storage::{Storage, Volume};

const CLOUDINIT_SIZE: u64 = 4 << 20;
const EFI_SIZE: u64 = 528 << 10;
const TPM_SIZE: u64 = 4 << 20;

/// A format by its word.
pub(crate) fn format_of(word: &str) -> VolumeFormat {
    match word {
        "qcow2" => VolumeFormat::Qcow2,
        "vmdk" => VolumeFormat::Vmdk,
        _ => VolumeFormat::Raw,
    }
}

/// The drive's file names a size to be allocated: `local:8`, `local:0`, `local:1.5`.
pub(crate) fn new_disk(file: &str) -> Option<(String, f64)> {
    let (storage, size) = file.split_once(':')?;
    let digits = size.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    if size.is_empty() || !digits {
        return None;
    }
    Some((storage.to_owned(), size.parse().ok()?))
}

/// The storage of `local:cloudinit`.
pub(crate) fn new_cloudinit(file: &str) -> Option<&str> {
    file.strip_suffix(":cloudinit")
}

/// Fails with the base's name if a linked clone still stands on the volume.
pub(crate) fn refuse_base_in_use(state: &State, volume: &Volume) -> Result<(), String> {
    let Some(vmid) = volume.vmid else { return Ok(()) };
    let own = format!("{vmid}/{}", volume.name);
    let used = state.guests.values().flat_map(|guest| guest.config.main.values()).any(|value| {
        Volume::parse(value.split(',').next().unwrap_or_default()).is_some_and(|other| {
            other.storage == volume.storage && other.base.as_ref() == Some(&own)
        })
    });
    if used { Err(own) } else { Ok(()) }
}

fn storage_of(shared: &Shared, id: &str) -> Result<Storage, String> {
    shared.state().storage(id).cloned()
}

/// The file of a volume id.
pub(crate) fn locate(shared: &Shared, volid: &str) -> Result<(Volume, Storage), String> {
    let volume =
        Volume::parse(volid).ok_or_else(|| format!("unable to parse volume ID '{volid}'"))?;
    let storage = storage_of(shared, &volume.storage)?;
    Ok((volume, storage))
}

/// Makes a drive's value real: allocates, imports, or finds what is there. Returns the value as
/// the file keeps it, and the volume that was made, if one was.
pub(crate) fn realize(
    shared: &Shared,
    vmid: u32,
    slot: &str,
    value: &str,
    log: &dyn Fn(&str),
) -> Result<(String, Option<String>), String> {
    let mut drive = Drive::parse(value);
    let made = if matches!(drive.file.as_str(), "none" | "cdrom") {
        drive.options.remove("size");
        None
    } else if let Some(storage) = new_cloudinit(&drive.file) {
        let volid = cloudinit(shared, storage, vmid, drive.options.remove("format"))?;
        drive.file.clone_from(&volid);
        drive.options.insert("media".to_owned(), "cdrom".to_owned());
        drive.options.remove("size");
        Some(volid)
    } else if let Some((storage, gib)) = new_disk(&drive.file) {
        let volid = disk(shared, &storage, gib, vmid, slot, &mut drive, log)?;
        drive.file.clone_from(&volid);
        Some(volid)
    } else if Volume::parse(&drive.file).is_some() {
        let (volume, storage) = locate(shared, &drive.file)?;
        let info = shared
            .driver
            .volume_info(&volume.file(&storage))
            .map_err(|_| format!("volume '{}' does not exist", drive.file))?;
        if drive.is_cloudinit() {
            drive.options.remove("size");
        } else {
            drive.options.insert("size".to_owned(), size::print(info.virtual_size));
        }
        drive.options.remove("format");
        None
    } else {
        None
    };
    if made.is_some() {
        log(&format!("{slot}: successfully created disk '{}'", drive.print()));
    }
    Ok((drive.print(), made))
}

fn cloudinit(
    shared: &Shared,
    storage: &str,
    vmid: u32,
    format: Option<String>,
) -> Result<String, String> {
    let storage = storage_of(shared, storage)?;
    let format = format_of(format.as_deref().unwrap_or("qcow2"));
    let volid = format!("{}:{vmid}/vm-{vmid}-cloudinit.{}", storage.id, format.as_str());
    let (volume, storage) = locate(shared, &volid)?;
    let file = volume.file(&storage);
    if file.exists() {
        return Err(format!("disk image '{}' already exists", volume.shown(&storage)));
    }
    shared
        .driver
        .create_volume(&file, shared.driver.stores(format), CLOUDINIT_SIZE)
        .map_err(|e| e.to_string())?;
    Ok(volid)
}

fn disk(
    shared: &Shared,
    storage: &str,
    gib: f64,
    vmid: u32,
    slot: &str,
    drive: &mut Drive,
    log: &dyn Fn(&str),
) -> Result<String, String> {
    let storage = storage_of(shared, storage)?;
    let format = drive.options.remove("format");
    let source = drive.options.remove("import-from");
    if let Some(free) = storage.free
        && source.is_none()
        && gib * f64::from(1 << 30) > free as f64
    {
        return Err(format!("not enough free space on storage '{}'", storage.id));
    }
    let name = storage.next_disk(vmid, &[]);
    if let Some(source) = source {
        let (from, shown) = match source.strip_prefix('/') {
            Some(_) => (std::path::PathBuf::from(&source), source.clone()),
            None => {
                let (volume, storage) = locate(shared, &source)?;
                (volume.file(&storage), volume.shown(&storage))
            }
        };
        // an absolute path names a file of the storage as PVE would show it
        let from = match shown.strip_prefix(&storage.path) {
            Some(below) if !from.exists() => storage.root.join(below.trim_start_matches('/')),
            _ => from,
        };
        let info =
            shared.driver.volume_info(&from).map_err(|_| format!("failed to stat '{shown}'"))?;
        let format = format.as_deref().map_or_else(|| VolumeFormat::of_path(&from), format_of);
        // vmdk is for imports only
        let format = if format == VolumeFormat::Vmdk { VolumeFormat::Raw } else { format };
        let volid = format!("{}:{vmid}/{name}.{}", storage.id, format.as_str());
        let (volume, storage) = locate(shared, &volid)?;
        log(&format!("create full clone of drive ({source})"));
        shared
            .driver
            .import_volume(&from, &volume.file(&storage), shared.driver.stores(format))
            .map_err(|e| e.to_string())?;
        drive.options.insert("size".to_owned(), size::print(info.virtual_size));
        return Ok(volid);
    }
    let bytes = match slot {
        "efidisk0" => EFI_SIZE,
        "tpmstate0" => TPM_SIZE,
        _ => (gib * f64::from(1 << 30)) as u64,
    };
    let format = format_of(format.as_deref().unwrap_or("raw"));
    let volid = format!("{}:{vmid}/{name}.{}", storage.id, format.as_str());
    let (volume, storage) = locate(shared, &volid)?;
    let shown = volume.shown(&storage);
    log(&format!("Formatting '{shown}', fmt={} size={bytes}", format.as_str()));
    shared
        .driver
        .create_volume(&volume.file(&storage), shared.driver.stores(format), bytes)
        .map_err(|e| e.to_string())?;
    drive.options.insert("size".to_owned(), size::print(bytes));
    Ok(volid)
}

/// Removes a volume; one that is gone already is no error.
pub(crate) fn remove(shared: &Shared, volid: &str) -> Result<(), String> {
    let (volume, storage) = locate(shared, volid)?;
    let file = volume.file(&storage);
    if !file.exists() {
        return Ok(());
    }
    shared.driver.remove_volume(&file).map_err(|e| e.to_string())?;
    if let Some(folder) = file.parent() {
        // only an empty folder goes, and that it is not empty is no error
        let _ = std::fs::remove_dir(folder);
    }
    Ok(())
}
