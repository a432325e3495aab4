//! Brings a file: all of it, with the right checksum, or nothing.
//!
//! It is written beside its place and renamed when its checksum is proven, so that what is cut off,
//! wrong or interrupted is never found under the name. Memory does not grow with it, and only a lack
//! of progress ends a transfer.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use pve_client::{Published, PublishedError};
use thiserror::Error;

use crate::address::shown;
use crate::checksum::{Algorithm, Checksum, Summer};
use crate::part::Part;

/// What is fetched.
#[derive(Debug, Clone, Copy)]
pub struct Fetch<'a> {
    /// Where it is.
    pub url: &'a str,
    /// The checksum that it has to have.
    pub wanted: &'a Checksum,
    /// Where it is put.
    pub to: &'a Path,
    /// Whether a file that is there with other content is replaced.
    pub replace: bool,
    /// How long nothing may come.
    pub stall: Duration,
}

/// How far a transfer is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// How many bytes came.
    pub done: u64,
    /// How many there are, if the server says it.
    pub total: Option<u64>,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fetched {
    /// It came.
    New(u64),
    /// It was there already.
    Present(u64),
}

/// Why a file is not there.
#[derive(Debug, Error)]
pub enum FetchError {
    /// The server does not give it.
    #[error("failed to fetch {url}: {source}")]
    Source {
        /// Where it is, without a password.
        url: String,
        /// What happened.
        source: PublishedError,
    },
    /// It is another file.
    #[error("{url} is not the file that is asked for: it has {found}, and {wanted} is wanted")]
    Other {
        /// Where it is, without a password.
        url: String,
        /// Its checksum.
        found: Checksum,
        /// The one that was asked for.
        wanted: Checksum,
    },
    /// There is a file with other content.
    #[error("{path} is there with other content: it has {found}, and {wanted} is wanted")]
    Taken {
        /// The file.
        path: PathBuf,
        /// Its checksum.
        found: Checksum,
        /// The one that was asked for.
        wanted: Checksum,
    },
    /// A text is longer than such texts are.
    #[error("{url} has more than {limit} bytes, which is no such text")]
    Long {
        /// Where it is.
        url: String,
        /// How many it may have.
        limit: usize,
    },
    /// It cannot be written or read.
    #[error("failed to write {path}: {source}")]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
}

impl FetchError {
    /// Whether the server says that there is no such file.
    #[must_use]
    pub fn is_missing(&self) -> bool {
        matches!(self, Self::Source { source, .. } if source.is_missing())
    }
}

/// Brings a file.
///
/// # Errors
/// When it cannot be had whole, or is another file; nothing is there then that was not before.
pub async fn fetch(
    what: Fetch<'_>,
    mut progress: impl FnMut(Progress),
) -> Result<Fetched, FetchError> {
    let Fetch { url, wanted, to, .. } = what;
    let unwritten = |source| FetchError::Write { path: to.to_owned(), source };
    if to.exists() {
        let found = Checksum::of_file(to, wanted.algorithm()).map_err(unwritten)?;
        if found == *wanted {
            let size = to.metadata().map_err(unwritten)?.len();
            return Ok(Fetched::Present(size));
        }
        if !what.replace {
            let (path, wanted) = (to.to_owned(), wanted.clone());
            return Err(FetchError::Taken { path, found, wanted });
        }
    }
    let mut part = Part::of(to).map_err(unwritten)?;
    let (found, size) =
        receive(what, part.file(), &mut progress).await.map_err(|error| match error {
            Received::Source(source) => FetchError::Source { url: shown(url), source },
            Received::Write(source) => unwritten(source),
        })?;
    if found != *wanted {
        return Err(FetchError::Other { url: shown(url), found, wanted: wanted.clone() });
    }
    part.finish(to).map_err(unwritten)?;
    Ok(Fetched::New(size))
}

/// The checksum of what is at an address, which is not kept.
pub(crate) async fn sum(
    url: &str,
    algorithm: Algorithm,
    stall: Duration,
    progress: &mut dyn FnMut(Progress),
) -> Result<Checksum, FetchError> {
    let source = |source| FetchError::Source { url: shown(url), source };
    let mut published = Published::open(url, stall).await.map_err(source)?;
    let (mut summer, mut done, total) = (Summer::new(algorithm), 0, published.size());
    while let Some(piece) = published.piece().await.map_err(source)? {
        summer.add(&piece);
        done += piece.len() as u64;
        progress(Progress { done, total });
    }
    Ok(summer.done())
}

/// A short text at an address.
pub(crate) async fn bytes(url: &str, limit: usize, stall: Duration) -> Result<Vec<u8>, FetchError> {
    let source = |source| FetchError::Source { url: shown(url), source };
    let mut published = Published::open(url, stall).await.map_err(source)?;
    let mut all = Vec::new();
    while let Some(piece) = published.piece().await.map_err(source)? {
        all.extend_from_slice(&piece);
        if all.len() > limit {
            return Err(FetchError::Long { url: shown(url), limit });
        }
    }
    Ok(all)
}

enum Received {
    Source(PublishedError),
    Write(io::Error),
}

async fn receive(
    what: Fetch<'_>,
    file: &mut impl Write,
    progress: &mut impl FnMut(Progress),
) -> Result<(Checksum, u64), Received> {
    let mut published = Published::open(what.url, what.stall).await.map_err(Received::Source)?;
    let (mut done, total) = (0, published.size());
    let mut summer = Summer::new(what.wanted.algorithm());
    while let Some(piece) = published.piece().await.map_err(Received::Source)? {
        summer.add(&piece);
        file.write_all(&piece).map_err(Received::Write)?;
        done += piece.len() as u64;
        progress(Progress { done, total });
    }
    Ok((summer.done(), done))
}
