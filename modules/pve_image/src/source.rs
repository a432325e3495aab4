//! The source as it will be on the storage: a file here of which size and checksum are known before
//! the first byte is sent, since PVE wants both before them.

use std::fmt::Display;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ansible_module::Failure;
use images::{Algorithm, Checksum, Probe, Summer, Unpacked, shown, unpack};
use pve_client::Published;
use tokio::sync::mpsc;

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
    /// The checksum of the source as it is published.
    pub(crate) published: Checksum,
}

impl Prepared {
    fn new(file: File, unpacked: Unpacked) -> Self {
        let Unpacked { size, checksum, published } = unpacked;
        Self { file, size, checksum, published }
    }
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
    let prepared = match source {
        Source::File(path) if compression == Decompress::None => whole(&path, wanted.as_ref())?,
        Source::File(path) => unpacked(session, &path, compression, wanted.as_ref())?,
        Source::Url(url) => fetched(session, &url, compression, wanted.as_ref()).await?,
    };
    session.prepared = Some(prepared);
    Ok(())
}

/// What is wrong with a file for this name: PVE looks at it only when all of it was sent, and takes a
/// qcow2 that is called raw for a disk.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn wrong(prepared: &Prepared, name: &str) -> Result<Vec<String>, Failure> {
    let probe = Probe::of(&prepared.file)
        .map_err(|error| Failure::new(format!("failed to read {name}: {error}")))?;
    let mut problems = probe.problems.clone();
    if problems.is_empty() {
        problems.extend(probe.contradicts(name));
    }
    let told = |problem| format!("what would be {name} is not to be used: {problem}");
    Ok(problems.into_iter().map(told).collect())
}

/// The checksum of a file here, as it is published.
///
/// # Errors
/// When it cannot be read.
pub(crate) fn published(session: &mut Session, path: &Path) -> Result<Checksum, Failure> {
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
    let data = std::fs::metadata(path).map_err(|error| unread(path, &error))?;
    if !data.is_file() {
        return Err(Failure::new(format!("src: {} is no file", path.display())));
    }
    Ok(data.len())
}

fn unread(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("failed to read {}: {error}", path.display()))
}

fn whole(path: &Path, wanted: Option<&Checksum>) -> Result<Prepared, Failure> {
    let mut file = File::open(path).map_err(|error| unread(path, &error))?;
    let size = size(path)?;
    let algorithm = wanted.map_or(Algorithm::Sha256, Checksum::algorithm);
    let mut summer = Summer::new(algorithm);
    std::io::copy(&mut file, &mut summer).map_err(|error| unread(path, &error))?;
    let checksum = summer.done();
    compare(&path.display().to_string(), &checksum, wanted)?;
    Ok(Prepared { file, size, published: checksum.clone(), checksum })
}

fn unpacked(
    session: &Session,
    path: &Path,
    compression: Decompress,
    wanted: Option<&Checksum>,
) -> Result<Prepared, Failure> {
    let input = File::open(path).map_err(|error| unread(path, &error))?;
    size(path)?;
    let mut file = unnamed(session)?;
    let algorithm = wanted.map_or(Algorithm::Sha256, Checksum::algorithm);
    let unpacked = unpack(input, compression.here(), algorithm, &mut file).map_err(|error| {
        Failure::new(format!(
            "failed to decompress {} into {}: {error}",
            path.display(),
            session.tmpdir.display()
        ))
    })?;
    compare(&path.display().to_string(), &unpacked.published, wanted)?;
    Ok(Prepared::new(file, unpacked))
}

/// Decompresses while it fetches: in a thread of its own, since decoders wait for what they read.
async fn fetched(
    session: &Session,
    url: &str,
    compression: Decompress,
    wanted: Option<&Checksum>,
) -> Result<Prepared, Failure> {
    let failed =
        |reason: &dyn Display| Failure::new(format!("failed to fetch {}: {reason}", shown(url)));
    let mut file = unnamed(session)?;
    let mut published = Published::open(url, session.stall).await.map_err(|e| failed(&e))?;
    let algorithm = wanted.map_or(Algorithm::Sha256, Checksum::algorithm);
    let (pieces, incoming) = mpsc::channel(8);
    let worker = tokio::task::spawn_blocking(move || {
        let input = Pieces { incoming, piece: Vec::new(), at: 0 };
        unpack(input, compression.here(), algorithm, &mut file).map(|unpacked| (file, unpacked))
    });
    let cut = loop {
        match published.piece().await {
            Ok(Some(piece)) => {
                // a decoder that gave up says why by itself
                if pieces.send(piece).await.is_err() {
                    break None;
                }
            }
            Ok(None) => break None,
            Err(error) => break Some(error),
        }
    };
    drop(pieces);
    let unpacked = worker.await.map_err(|error| failed(&error))?;
    if let Some(error) = cut {
        return Err(failed(&error));
    }
    let (file, unpacked) = unpacked.map_err(|error| {
        Failure::new(format!(
            "failed to decompress {} into {}: {error}",
            shown(url),
            session.tmpdir.display()
        ))
    })?;
    compare(&shown(url), &unpacked.published, wanted)?;
    Ok(Prepared::new(file, unpacked))
}

/// Pieces of a file as they come in.
struct Pieces {
    incoming: mpsc::Receiver<Vec<u8>>,
    piece: Vec<u8>,
    at: usize,
}

impl Read for Pieces {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.at == self.piece.len() {
            let Some(piece) = self.incoming.blocking_recv() else { return Ok(0) };
            (self.piece, self.at) = (piece, 0);
        }
        let take = buffer.len().min(self.piece.len() - self.at);
        buffer[..take].copy_from_slice(&self.piece[self.at..self.at + take]);
        self.at += take;
        Ok(take)
    }
}

/// A file that is gone when it is closed, however that comes.
fn unnamed(session: &Session) -> Result<File, Failure> {
    let folder = &session.tmpdir;
    tempfile::tempfile_in(folder).map_err(|error| {
        Failure::new(format!("tmpdir: failed to make a file in {}: {error}", folder.display()))
    })
}

fn compare(place: &str, found: &Checksum, wanted: Option<&Checksum>) -> Result<(), Failure> {
    match wanted.filter(|wanted| *wanted != found) {
        None => Ok(()),
        Some(wanted) => Err(Failure::new(format!(
            "{place} is not the file that is asked for: it has {found}, and {wanted} is wanted"
        ))),
    }
}
