//! Finds the newest build of what an entry pins, and pins that.
//!
//! What is found is a proposal: an entry to be looked at and committed. Only dated builds are
//! proposed, never an older one than is pinned; and if a build that is pinned has another checksum
//! now, somebody published it anew, which is no proposal but a failure.

use std::time::Duration;

use thiserror::Error;

use crate::catalog::{Entry, EntryError, Layout, Publisher, Serial};
use crate::checksum::{Algorithm, Checksum};
use crate::fetch::{FetchError, Progress, bytes, sum};
use crate::signature::{SignatureError, Signatures};
use crate::sums::{Sums, SumsError};

/// Lists and files of checksums have some kilobytes.
const LONGEST: usize = 4 << 20;
/// How many builds without checksums are passed over: a build is listed while it is being published.
const TRIED: usize = 3;

/// How publishers are asked.
#[derive(Debug, Clone)]
pub struct Upstream {
    /// How signatures are checked.
    pub signatures: Signatures,
    /// How long nothing may come.
    pub stall: Duration,
}

/// What an entry becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resolved {
    /// The entry with the build and its checksum.
    pub entry: Entry,
    /// What is to be known about it.
    pub notes: Vec<String>,
}

/// Why there is nothing to pin.
#[derive(Debug, Error)]
pub enum ResolveError {
    /// The entry is wrong.
    #[error("{0}")]
    Entry(#[from] EntryError),
    /// The publisher cannot be asked.
    #[error("{0}")]
    Fetch(#[from] FetchError),
    /// The publisher lists no builds.
    #[error("{url} lists no dated build")]
    NoBuilds {
        /// The list.
        url: String,
    },
    /// The newest builds have no checksums.
    #[error("none of the builds {builds} has a checksum of {name}")]
    NoSums {
        /// The builds.
        builds: String,
        /// The file.
        name: String,
    },
    /// The file of checksums is none.
    #[error("{url}: {source}")]
    Sums {
        /// Where it is.
        url: String,
        /// What is wrong with it.
        source: SumsError,
    },
    /// The signature of the checksums is not good.
    #[error("{url}: {source}")]
    Signature {
        /// The file of checksums.
        url: String,
        /// What is wrong with it.
        source: SignatureError,
    },
    /// What is pinned was published anew.
    #[error(
        "{serial} was published anew: {found} is published, and {pinned} is pinned; a dated build \
         does not change, so find out why before you take it"
    )]
    Changed {
        /// The build.
        serial: String,
        /// The checksum that is published.
        found: Checksum,
        /// The one that is pinned.
        pinned: Checksum,
    },
}

/// Finds the newest build, or the one that is asked for, and its checksum.
///
/// # Errors
/// When the publisher has none, or its answer cannot be relied on.
pub async fn resolve(
    entry: &Entry,
    to: Option<&str>,
    upstream: &Upstream,
    progress: &mut dyn FnMut(Progress),
) -> Result<Resolved, ResolveError> {
    let layout = Layout::of(entry)?;
    let pinned = layout.pinned_by(entry);
    let candidates = match to {
        Some(to) => vec![layout.named(entry.publisher, to)?],
        None => newer(&layout, pinned.as_ref(), upstream).await?,
    };
    let mut notes = Vec::new();
    for serial in &candidates {
        let found = match layout.sums(serial) {
            Some((sums, signature)) => {
                published(&layout, serial, &sums, signature.as_deref(), upstream).await?
            }
            // the one that is pinned is not fetched again to see that it is the same
            None if pinned.as_ref() == Some(serial) => entry.checksum.parse().ok(),
            None => {
                notes.push(
                    "the factory publishes no checksums: this one is of what it sent just now"
                        .to_owned(),
                );
                let url = layout.url(serial);
                Some(sum(&url, Algorithm::Sha256, upstream.stall, progress).await?)
            }
        };
        let Some(found) = found else {
            notes.push(format!("{serial} has no checksums yet, and is passed over"));
            continue;
        };
        if pinned.as_ref() == Some(serial) {
            unchanged(entry, serial, &found)?;
        }
        let mut entry = entry.clone();
        if entry.publisher == Publisher::Talos {
            entry.release = serial.to_string();
        } else {
            entry.serial = Some(serial.to_string());
        }
        entry.checksum = found.to_string();
        return Ok(Resolved { entry, notes });
    }
    let builds = candidates.iter().map(Serial::to_string).collect::<Vec<_>>().join(", ");
    let name = candidates.first().map(|serial| layout.published(serial)).unwrap_or_default();
    Err(ResolveError::NoSums { builds, name })
}

/// The builds that are not older than the one that is pinned, the newest first.
async fn newer(
    layout: &Layout,
    pinned: Option<&Serial>,
    upstream: &Upstream,
) -> Result<Vec<Serial>, ResolveError> {
    let url = layout.list();
    let page = bytes(&url, LONGEST, upstream.stall).await?;
    let mut serials = layout.listed(&String::from_utf8_lossy(&page));
    if serials.is_empty() {
        return Err(ResolveError::NoBuilds { url });
    }
    serials.truncate(TRIED);
    if let Some(pinned) = pinned {
        serials.retain(|serial| serial > pinned);
        // if nothing newer is complete, what is pinned stays
        serials.push(pinned.clone());
    }
    Ok(serials)
}

/// The checksum that is published for a build; nothing if there is none.
async fn published(
    layout: &Layout,
    serial: &Serial,
    url: &str,
    signature: Option<&str>,
    upstream: &Upstream,
) -> Result<Option<Checksum>, ResolveError> {
    let text = match bytes(url, LONGEST, upstream.stall).await {
        Ok(text) => text,
        Err(error) if error.is_missing() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    if let Some(signature) = signature.filter(|_| upstream.signatures != Signatures::Unchecked) {
        let signature = bytes(signature, LONGEST, upstream.stall).await?;
        let checked = upstream.signatures.check(&text, &signature);
        checked.map_err(|source| ResolveError::Signature { url: url.to_owned(), source })?;
    }
    let sums = Sums::read(&String::from_utf8_lossy(&text))
        .map_err(|source| ResolveError::Sums { url: url.to_owned(), source })?;
    Ok(sums.of(&layout.published(serial)).cloned())
}

/// A dated build does not change.
fn unchanged(entry: &Entry, serial: &Serial, found: &Checksum) -> Result<(), ResolveError> {
    match entry.checksum.parse::<Checksum>() {
        Ok(pinned) if pinned.algorithm() == found.algorithm() && pinned != *found => {
            Err(ResolveError::Changed { serial: serial.to_string(), found: found.clone(), pinned })
        }
        _ => Ok(()),
    }
}

impl Layout {
    /// The build that an entry pins; none if the entry is new.
    fn pinned_by(&self, entry: &Entry) -> Option<Serial> {
        let named = if entry.publisher == Publisher::Talos {
            Some(entry.release.as_str())
        } else {
            entry.serial.as_deref()
        };
        named.filter(|_| !entry.checksum.is_empty()).and_then(|named| self.read(named))
    }

    /// The build that somebody asks for.
    fn named(&self, publisher: Publisher, text: &str) -> Result<Serial, EntryError> {
        match self.read(text) {
            Some(serial) => Ok(serial),
            None if publisher == Publisher::Talos => {
                Err(EntryError::new("to", format!("'{text}' is no version, such as v1.11.5")))
            }
            None => self.serial(Some(text)),
        }
    }
}
