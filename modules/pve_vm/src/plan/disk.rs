//! One drive: made if its slot is empty, otherwise its options changed and itself grown.
//!
//! A volume that exists is carried over into every line that is written. What would lose or swap
//! it is refused: another storage, a smaller size, another kind of drive.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::property::{Disk, DiskSource, Options};
use pve_types::{Size, StorageId};

use crate::wanted::at;

/// A bare number above this, which is a PiB, was not meant as GiB.
const MOST_GIB: u64 = 1 << 20;

/// What is asked of one drive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DiskWant {
    /// What it holds, if that is said.
    pub(crate) source: Source,
    /// Its size.
    pub(crate) size: Option<Size>,
    /// The format of a new volume.
    pub(crate) format: Option<String>,
    /// The other sub-options; one that is nothing is taken away.
    pub(crate) options: BTreeMap<String, Option<String>>,
}

/// What a drive shall hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// Not said: options of a drive that is there.
    Unsaid,
    /// A volume on this storage, made anew if there is none, from an image or empty.
    Disk {
        /// Where.
        storage: StorageId,
        /// From which image.
        import: Option<String>,
    },
    /// The cloud-init drive.
    CloudInit(StorageId),
    /// This and nothing else: an ISO file, a volume that exists, `none`.
    Exactly(String),
}

/// What has to be done about a drive.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Outcome {
    /// The line to write.
    pub(crate) line: Option<String>,
    /// The size to grow it to after that, and the one it has.
    pub(crate) grow: Option<(Option<Size>, Size)>,
    /// Whether a volume is made.
    pub(crate) allocates: bool,
    /// The storage it is on and the one to move it to.
    pub(crate) moves: Option<(StorageId, StorageId)>,
}

impl DiskWant {
    /// Reads what is asked of the drive in a slot.
    ///
    /// # Errors
    /// Names the slot, what is wrong and what would be right.
    pub(crate) fn new(
        slot: &str,
        wanted: &BTreeMap<String, Option<String>>,
    ) -> Result<Self, Failure> {
        let mut options = wanted.clone();
        let mut take = |key: &str| options.remove(key).flatten();
        let (storage, file) = (take("storage"), take("file"));
        let (size, import, format) = (take("size"), take("import-from"), take("format"));
        let storage: Option<StorageId> = match storage {
            Some(text) => Some(text.parse().map_err(|error| at(slot, &error))?),
            None => None,
        };
        let mut size = match size {
            // a bare number of GiB, as in STORAGE:SIZE
            Some(text) if text.bytes().all(|byte| byte.is_ascii_digit()) && !text.is_empty() => {
                if text.parse::<u64>().map_or(true, |gib| gib > MOST_GIB) {
                    return Err(Failure::new(format!(
                        "{slot}: size {text} is a number of GiB without its unit: give one, for \
                         example 8G"
                    )));
                }
                Some(format!("{text}G").parse::<Size>().map_err(|error| at(slot, &error))?)
            }
            Some(text) => Some(text.parse::<Size>().map_err(|error| at(slot, &error))?),
            None => None,
        };
        let source = match (storage, file.as_deref().map(DiskSource::new)) {
            (Some(_), Some(_)) => {
                return Err(Failure::new(format!(
                    "{slot}: give either storage and size or the volume, not both"
                )));
            }
            (Some(storage), None) => Source::Disk { storage, import },
            (None, Some(DiskSource::Allocate { storage, gib })) => {
                if gib.parse::<f64>().is_ok_and(|gib| gib > MOST_GIB as f64) {
                    return Err(Failure::new(format!(
                        "{slot}: {storage}:{gib} asks for a disk of {gib} GiB: give the number of GiB"
                    )));
                }
                let given: Size = format!("{gib}G").parse().map_err(|error| at(slot, &error))?;
                if given.bytes() > 0 && !is_sized_by_pve(slot) {
                    size = Some(given);
                }
                Source::Disk { storage, import }
            }
            (None, Some(DiskSource::NewCloudInit(storage))) => Source::CloudInit(storage),
            (None, Some(_)) if import.is_some() => {
                return Err(Failure::new(format!(
                    "{slot}: a volume that exists is not imported into: give storage and import_from"
                )));
            }
            (None, Some(DiskSource::Volume(volid))) if volid.volume.starts_with('-') => {
                return Err(Failure::new(format!(
                    "{slot}: '{}' is neither a size in GiB nor a volume",
                    volid.volume
                )));
            }
            (None, Some(_)) => Source::Exactly(file.unwrap_or_default()),
            (None, None) if import.is_some() => {
                return Err(Failure::new(format!("{slot}: import_from needs a storage")));
            }
            (None, None) => Source::Unsaid,
        };
        if is_sized_by_pve(slot) {
            // what a configuration says of it is its size, and nobody's wish
            size = None;
        }
        if slot.starts_with("unused") && !matches!(source, Source::Exactly(_)) {
            return Err(Failure::new(format!(
                "{slot}: it is a volume that no drive uses, and none is made for it: make a disk \
                 in a slot such as scsi1"
            )));
        }
        if size.is_some_and(|size| size.bytes() == 0) {
            return Err(Failure::new(format!(
                "{slot}: a disk of size 0 cannot be made: give a size, for example 8G"
            )));
        }
        if let Source::Exactly(file) = &source {
            let drive = Disk::new(file);
            let iso = drive.volume().is_some_and(|volid| volid.content() == Some("iso"));
            if iso || matches!(file.as_str(), "none" | "cdrom") {
                options.entry("media".into()).or_insert_with(|| Some("cdrom".into()));
            }
        }
        Ok(Self { source, size, format, options })
    }

    /// The line of a drive that is yet to be made.
    ///
    /// # Errors
    /// When it is not said what to make.
    pub(crate) fn create(&self, slot: &str) -> Result<Outcome, Failure> {
        let mut options: Options = self
            .options
            .iter()
            .filter_map(|(key, value)| Some((key.clone(), value.clone()?)))
            .collect();
        if let Some(format) = &self.format {
            options.insert("format".into(), format.clone());
        }
        let mut outcome = Outcome { allocates: true, ..Outcome::default() };
        let file = match &self.source {
            Source::Disk { storage, import: Some(import) } => {
                options.insert("import-from".into(), import.clone());
                outcome.grow = self.size.map(|size| (None, size));
                format!("{storage}:0")
            }
            Source::Disk { storage, import: None } => match self.size {
                Some(size) => format!("{storage}:{}", size.gib()),
                None if is_sized_by_pve(slot) => {
                    format!("{storage}:1")
                }
                None => {
                    return Err(Failure::new(format!(
                        "{slot}: a new disk needs a size, or an image to be made from"
                    )));
                }
            },
            Source::CloudInit(storage) => format!("{storage}:cloudinit"),
            Source::Exactly(file) => {
                outcome.allocates = false;
                file.clone()
            }
            Source::Unsaid => {
                return Err(Failure::new(format!(
                    "{slot}: there is no such drive yet: give a storage and a size to make it"
                )));
            }
        };
        options.insert("file".into(), file);
        outcome.line = Some(Disk::GRAMMAR.line(&options));
        Ok(outcome)
    }

    /// What has to be done about a drive that is there.
    ///
    /// # Errors
    /// When it would be lost, moved or shrunk.
    pub(crate) fn update(
        &self,
        slot: &str,
        current: &str,
        may_move: bool,
    ) -> Result<Outcome, Failure> {
        let mut moves = None;
        let disk = Disk::new(current);
        let refuse = |text: String| Err(Failure::new(format!("{slot}: {text}")));
        match (&self.source, disk.source()) {
            (Source::Unsaid, _) => {}
            (Source::CloudInit(storage), _) if disk.is_cloudinit() => {
                let now = disk.storage();
                if now.as_ref() != Some(storage) {
                    return refuse(format!(
                        "the cloud-init drive is on another storage than {storage}: {current}"
                    ));
                }
                // nothing else can be said of it
                return Ok(Outcome::default());
            }
            (Source::CloudInit(_), Some(DiskSource::Empty)) => return self.create(slot),
            (Source::Disk { storage, .. }, Some(DiskSource::Volume(volid))) if !disk.is_cdrom() => {
                if volid.storage != *storage {
                    if !may_move {
                        return refuse(format!(
                            "the disk is on storage {}, not on {storage}: set move to true to have \
                             it moved there",
                            volid.storage
                        ));
                    }
                    moves = Some((volid.storage, storage.clone()));
                }
            }
            (Source::Exactly(wanted), now) => {
                let wanted = DiskSource::new(wanted);
                let media = |source: &DiskSource| {
                    matches!(source, DiskSource::Empty | DiskSource::HostDrive)
                        || matches!(source, DiskSource::Volume(volid) if volid.content() == Some("iso"))
                };
                let swaps = disk.is_cdrom() && !disk.is_cloudinit() && media(&wanted);
                if now.as_ref() != Some(&wanted) {
                    if !swaps {
                        return refuse(format!("there is another drive: {current}"));
                    }
                    return self.create(slot);
                }
            }
            _ => return refuse(format!("there is another kind of drive: {current}")),
        }
        let outcome = self.options_and_size(slot, &disk)?;
        Ok(Outcome { moves, ..outcome })
    }

    fn options_and_size(&self, slot: &str, disk: &Disk) -> Result<Outcome, Failure> {
        let mut outcome = Outcome::default();
        let mut options = disk.options().clone();
        let mut changed = false;
        for (key, value) in &self.options {
            match value {
                Some(value) if !Disk::GRAMMAR.holds(&options, key, value) => {
                    options.insert(key.clone(), value.clone());
                    changed = true;
                }
                None => changed |= options.remove(key).is_some(),
                Some(_) => {}
            }
        }
        if changed {
            outcome.line = Some(Disk::GRAMMAR.line(&options));
        }
        if let (Some(wanted), Some(now)) = (self.size, disk.size()) {
            if wanted < now {
                return Err(Failure::new(format!(
                    "{slot}: the disk has {now} and cannot be shrunk to {wanted}"
                )));
            }
            if wanted > now {
                outcome.grow = Some((Some(now), wanted));
            }
        }
        Ok(outcome)
    }
}

/// PVE gives the disks of the firmware and of the TPM their sizes itself, and grows neither.
fn is_sized_by_pve(slot: &str) -> bool {
    slot.starts_with("efidisk") || slot.starts_with("tpmstate")
}
