//! `ideN`, `sataN`, `scsiN`, `virtioN`, `efidisk0`, `tpmstate0`, `unusedN`.

use super::grammar::{Grammar, Kind};
use crate::{Size, StorageId, VolId};

super::codec! {
    /// A drive: `local:110/vm-110-disk-0.raw,size=1G`, `none,media=cdrom`,
    /// `local:0,import-from=local:import/x.qcow2`.
    Disk
}

/// Where a drive's content comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DiskSource {
    /// An empty CD drive.
    Empty,
    /// The host's own CD drive.
    HostDrive,
    /// A volume that exists, or an ISO file.
    Volume(VolId),
    /// A volume to be made: `STORAGE:GIB`.
    Allocate {
        /// Where to make it.
        storage: StorageId,
        /// How large, in GiB; 0 together with `import-from`.
        gib: String,
    },
    /// The cloud-init drive to be made: `STORAGE:cloudinit`.
    NewCloudInit(StorageId),
    /// A path on the host, or what we do not know.
    Other(String),
}

impl Disk {
    /// The names and the comparison of its sub-options, on whichever bus.
    pub const GRAMMAR: &'static Grammar = &Self::ANY;

    pub(super) const ANY: Grammar = Grammar {
        what: "a drive",
        default_key: Some("file"),
        aliases: &[
            ("volume", "file"),
            ("bps_rd_length", "bps_rd_max_length"),
            ("bps_wr_length", "bps_wr_max_length"),
            ("iops_rd_length", "iops_rd_max_length"),
            ("iops_wr_length", "iops_wr_max_length"),
        ],
        kinds: &[
            ("size", Kind::Size),
            ("backup", Kind::Flag),
            ("detect_zeroes", Kind::Flag),
            ("iothread", Kind::Flag),
            ("pre-enrolled-keys", Kind::Flag),
            ("replicate", Kind::Flag),
            ("ro", Kind::Flag),
            ("scsiblock", Kind::Flag),
            ("shared", Kind::Flag),
            ("snapshot", Kind::Flag),
            ("ssd", Kind::Flag),
            ("mbps", Kind::Number),
            ("mbps_max", Kind::Number),
            ("mbps_rd", Kind::Number),
            ("mbps_rd_max", Kind::Number),
            ("mbps_wr", Kind::Number),
            ("mbps_wr_max", Kind::Number),
            ("iops", Kind::Number),
            ("iops_max", Kind::Number),
            ("iops_rd", Kind::Number),
            ("iops_rd_max", Kind::Number),
            ("iops_wr", Kind::Number),
            ("iops_wr_max", Kind::Number),
            ("queues", Kind::Number),
            ("wwn", Kind::Word),
        ],
        defaults: &[
            ("media", "disk"),
            ("backup", "1"),
            ("replicate", "1"),
            ("discard", "ignore"),
            ("iothread", "0"),
            ("ro", "0"),
            ("scsiblock", "0"),
            ("shared", "0"),
            ("snapshot", "0"),
            ("ssd", "0"),
            ("pre-enrolled-keys", "0"),
        ],
        ..Grammar::PLAIN
    };

    /// Where the content comes from.
    #[must_use]
    pub fn source(&self) -> Option<DiskSource> {
        self.get("file").map(DiskSource::new)
    }

    /// The volume, if there is one already.
    #[must_use]
    pub fn volume(&self) -> Option<VolId> {
        match self.source()? {
            DiskSource::Volume(volid) => Some(volid),
            _ => None,
        }
    }

    /// The storage it is on or shall be on.
    #[must_use]
    pub fn storage(&self) -> Option<StorageId> {
        match self.source()? {
            DiskSource::Volume(VolId { storage, .. })
            | DiskSource::Allocate { storage, .. }
            | DiskSource::NewCloudInit(storage) => Some(storage),
            _ => None,
        }
    }

    /// The size that PVE wrote.
    #[must_use]
    pub fn size(&self) -> Option<Size> {
        self.get("size")?.parse().ok()
    }

    /// Whether it is a CD drive, a cloud-init drive included.
    #[must_use]
    pub fn is_cdrom(&self) -> bool {
        self.get("media") == Some("cdrom") || self.is_cloudinit()
    }

    /// Whether it is the cloud-init drive.
    #[must_use]
    pub fn is_cloudinit(&self) -> bool {
        match self.source() {
            Some(DiskSource::NewCloudInit(_)) => true,
            Some(DiskSource::Volume(volid)) => volid.is_cloudinit(),
            _ => false,
        }
    }
}

impl DiskSource {
    /// The source that this first value of a drive means.
    #[must_use]
    pub fn new(text: &str) -> Self {
        match text {
            "none" => return Self::Empty,
            "cdrom" => return Self::HostDrive,
            _ => {}
        }
        let Ok(volid) = text.parse::<VolId>() else { return Self::Other(text.to_owned()) };
        if volid.volume == "cloudinit" {
            return Self::NewCloudInit(volid.storage);
        }
        let gib = !volid.volume.is_empty()
            && volid.volume.parse::<f64>().is_ok_and(f64::is_finite)
            && volid.volume.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        if gib {
            return Self::Allocate { storage: volid.storage, gib: volid.volume };
        }
        Self::Volume(volid)
    }
}
