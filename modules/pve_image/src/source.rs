//! The source as it will be on the storage: a file here of which size and checksum are known before
//! the first byte is sent, since PVE wants both before them.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use ansible_module::Failure;
use sha2::{Digest, Sha256, Sha512};

use crate::checksum::Checksum;
use crate::params::Decompress;
use crate::request::{Origin, Source};
use crate::target::Session;

/// A file as it will be on the storage.
#[derive(Debug)]
pub(crate) struct Prepared {
    /// Its bytes, from the first one on.
    pub(crate) file: File,
    /// Its size.
    pub(crate) size: u64,
    /// Its checksum.
    pub(crate) checksum: Checksum,
}

/// Has the source here, if it is to be uploaded.
///
/// # Errors
/// When it cannot be read, or is not the one whose checksum was given.
pub(crate) async fn prepare(session: &mut Session) -> Result<(), Failure> {
    if session.prepared.is_some() {
        return Ok(());
    }
    let Some(Origin::Upload { source, compression }) = session.request.origin.clone() else {
        return Ok(());
    };
    let wanted = session.request.checksum.clone();
    let prepared = match (source, compression) {
        (Source::File(path), Decompress::None) => whole(&path, wanted.as_ref())?,
        _ => return Err(Failure::new("src: it cannot be decompressed")),
    };
    session.prepared = Some(prepared);
    Ok(())
}

/// The checksum of a file here, as it is published.
///
/// # Errors
/// When it cannot be read.
pub(crate) async fn published(session: &mut Session, path: &Path) -> Result<Checksum, Failure> {
    let read = whole(path, None)?;
    let checksum = read.checksum.clone();
    let plain = matches!(
        session.request.origin,
        Some(Origin::Upload { compression: Decompress::None, .. })
    );
    if plain {
        session.prepared = Some(read);
    }
    Ok(checksum)
}

/// The size of a file here.
///
/// # Errors
/// When it cannot be seen.
pub(crate) fn size(path: &Path) -> Result<u64, Failure> {
    let data = std::fs::metadata(path)
        .map_err(|error| Failure::new(format!("failed to read {}: {error}", path.display())))?;
    if !data.is_file() {
        return Err(Failure::new(format!("src: {} is no file", path.display())));
    }
    Ok(data.len())
}

fn whole(path: &Path, wanted: Option<&Checksum>) -> Result<Prepared, Failure> {
    let failed = |error| Failure::new(format!("failed to read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let size = file.metadata().map_err(failed)?.len();
    let algorithm = wanted.map_or("sha256", Checksum::algorithm);
    let hex = if algorithm == "sha512" {
        sum::<Sha512>(&mut file).map_err(failed)?
    } else {
        sum::<Sha256>(&mut file).map_err(failed)?
    };
    let checksum: Checksum = format!("{algorithm}:{hex}").parse().map_err(Failure::new)?;
    if let Some(wanted) = wanted.filter(|wanted| **wanted != checksum) {
        return Err(Failure::new(format!(
            "{} is not the file that is asked for: it has {checksum}, and {wanted} is wanted",
            path.display()
        )));
    }
    Ok(Prepared { file, size, checksum })
}

fn sum<D: Digest>(file: &mut File) -> std::io::Result<String> {
    let mut hasher = D::new();
    let mut chunk = vec![0; 128 << 10];
    loop {
        let read = file.read(&mut chunk)?;
        if read == 0 {
            return Ok(hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect());
        }
        hasher.update(&chunk[..read]);
    }
}
