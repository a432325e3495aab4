//! What a task asks for, understood: everything that can be told without asking anyone.

use std::path::PathBuf;

use ansible_module::Failure;
use images::{Checksum, Entry, shown};
use pve_types::{NodeName, StorageId, VolId};

use crate::names::{self, COMPRESSIONS};
use crate::params::{Content, Decompress, Params, State, Via};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Request {
    /// The storage.
    pub(crate) storage: StorageId,
    /// What the file is.
    pub(crate) content: Content,
    /// The nodes that were named; all if none was.
    pub(crate) nodes: Vec<NodeName>,
    /// Its name, if the task says it.
    pub(crate) name: Option<String>,
    /// What the source is called, if its address does not say it.
    pub(crate) called: Option<String>,
    /// Where it comes from; nowhere if it is to be removed.
    pub(crate) origin: Option<Origin>,
    /// The checksum of the source as it is published.
    pub(crate) checksum: Option<Checksum>,
}

/// Where a file comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origin {
    /// The node fetches it.
    Node {
        /// Where.
        url: String,
        /// What the node decompresses, in PVE's word.
        compression: Option<&'static str>,
    },
    /// It is uploaded.
    Upload {
        /// What.
        source: Source,
        /// What is decompressed here.
        compression: Decompress,
    },
}

/// What is uploaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Source {
    /// A file here.
    File(PathBuf),
    /// What is at an address.
    Url(String),
}

impl Origin {
    /// The source's own name.
    fn published(&self) -> String {
        let place = match self {
            Self::Node { url, .. } | Self::Upload { source: Source::Url(url), .. } => url.clone(),
            Self::Upload { source: Source::File(path), .. } => path.display().to_string(),
        };
        names::last_part(&place).to_owned()
    }

    /// The source's own name without the ending of a compression that is taken away.
    pub(crate) fn stem(&self) -> String {
        let name = self.published();
        let compressed = match self {
            Self::Node { compression, .. } => compression.is_some(),
            Self::Upload { compression, .. } => *compression != Decompress::None,
        };
        match ending(&name) {
            Some(ending) if compressed => name[..name.len() - ending.len() - 1].to_owned(),
            _ => name,
        }
    }
}

/// The compression that a name ends in.
fn ending(name: &str) -> Option<&'static str> {
    COMPRESSIONS
        .into_iter()
        .find(|ending| name.strip_suffix(ending).is_some_and(|stem| stem.ends_with('.')))
}

impl Request {
    /// Understands a task.
    ///
    /// # Errors
    /// Names the option, what was given and what is allowed.
    pub(crate) fn of(params: &Params) -> Result<Self, Failure> {
        let mut nodes = Vec::new();
        for name in params.nodes.iter().filter(|name| *name != "all") {
            let node = name.parse().map_err(|error| Failure::new(format!("nodes: {error}")))?;
            if !nodes.contains(&node) {
                nodes.push(node);
            }
        }
        if !nodes.is_empty() && params.nodes.iter().any(|name| name == "all") {
            return Err(Failure::new("nodes: give all, or the names of some"));
        }
        if params.state == State::Absent {
            return Self::absent(params, nodes);
        }
        if params.volid.is_some() {
            return Err(Failure::new("volid: it says what state=absent removes"));
        }
        let storage =
            params.storage.clone().ok_or_else(|| Failure::new("storage: it is missing"))?;
        let pinned = params.catalog.as_ref().map(Entry::pinned).transpose();
        let pinned = pinned.map_err(|error| Failure::new(format!("catalog: {error}")))?;
        let origin = match &pinned {
            Some(pinned) => fetched(params, &pinned.url)?,
            None => origin(params)?,
        };
        let checksum = match &pinned {
            Some(pinned) => Some(pinned.checksum.clone()),
            None => checksum(params, &origin)?,
        };
        let called = pinned.map(|pinned| pinned.name);
        let name = params.name.clone();
        // what a name by default has more is part of a checksum
        let checked = name.clone().unwrap_or_else(|| {
            let called = called.clone().unwrap_or_else(|| origin.stem());
            names::by_content(params.content, &called, None)
        });
        if let Some(problem) = names::problem(params.content, &checked) {
            let option = if name.is_some() { "name" } else { "the name of the source" };
            return Err(Failure::new(format!("{option}: {problem}")));
        }
        Ok(Self {
            storage,
            content: params.content,
            nodes,
            name,
            called,
            origin: Some(origin),
            checksum,
        })
    }

    fn absent(params: &Params, nodes: Vec<NodeName>) -> Result<Self, Failure> {
        if params.url.is_some() || params.src.is_some() || params.catalog.is_some() {
            return Err(Failure::new(
                "state=absent: what is removed is said by volid, or by storage, content and name",
            ));
        }
        let (storage, content, name) = match (&params.volid, &params.storage, &params.name) {
            (Some(volid), storage, _) => {
                if storage.as_ref().is_some_and(|storage| *storage != volid.storage) {
                    return Err(Failure::new(format!(
                        "storage: volid {volid} is on storage {}",
                        volid.storage
                    )));
                }
                let content = volid.content().and_then(Content::of_word).ok_or_else(|| {
                    Failure::new(format!(
                        "volid: {volid} is no image file (import, iso, vztmpl); disks of machines \
                         are removed with their machines, see pve_vm"
                    ))
                })?;
                let name = volid.volume.split_once('/').map(|(_, name)| name.to_owned());
                (volid.storage.clone(), content, name.unwrap_or_default())
            }
            (None, Some(storage), Some(name)) => (storage.clone(), params.content, name.clone()),
            (None, None, Some(_)) => {
                return Err(Failure::new("storage: it is missing: which storage is it on?"));
            }
            (None, _, None) => {
                return Err(Failure::new("state=absent: give volid, or storage and name"));
            }
        };
        if name.is_empty() || name.contains('/') {
            return Err(Failure::new(format!("name: '{name}' is no file's name on a storage")));
        }
        let name = Some(name);
        Ok(Self { storage, content, nodes, name, called: None, origin: None, checksum: None })
    }

    /// The volume that is meant.
    pub(crate) fn volid(&self, name: &str) -> VolId {
        VolId { storage: self.storage.clone(), volume: format!("{}/{name}", self.content.word()) }
    }
}

fn origin(params: &Params) -> Result<Origin, Failure> {
    let is_address = |text: &str| text.contains("://");
    match (&params.url, &params.src) {
        (Some(_), Some(_)) => Err(Failure::new("url and src: give one of them")),
        (None, None) => Err(Failure::new("url, src or catalog: where does the file come from?")),
        (Some(url), None) => {
            address("url", url)?;
            fetched(params, url)
        }
        (None, Some(src)) if is_address(src) => {
            address("src", src)?;
            if params.via == Via::Node {
                return Err(Failure::new(
                    "src: an address is fetched by the control node only with via=controller; give \
                     it as url to let the node fetch it",
                ));
            }
            upload(params, Source::Url(src.clone()))
        }
        (None, Some(src)) if src.is_empty() => Err(Failure::new("src: it is empty")),
        (None, Some(src)) => upload(params, Source::File(src.into())),
    }
}

fn fetched(params: &Params, url: &str) -> Result<Origin, Failure> {
    match params.via {
        Via::Node => by_node(params, url),
        Via::Controller => upload(params, Source::Url(url.to_owned())),
    }
}

/// PVE takes http and https.
fn address(option: &str, url: &str) -> Result<(), Failure> {
    let rest = ["http://", "https://"].iter().find_map(|scheme| url.strip_prefix(scheme));
    let host = rest.and_then(|rest| rest.split(['/', '?', '#']).next()).unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let port = host.rsplit_once(':').map(|(_, port)| port).filter(|port| !port.ends_with(']'));
    if port.is_some_and(|port| port.parse::<u16>().is_err()) {
        return Err(Failure::new(format!(
            "{option}: '{}' is no address: there is no port after the ':'; in a password '/' is \
             written %2F, '?' %3F, '#' %23",
            shown(url)
        )));
    }
    if host.is_empty() || url.contains(char::is_whitespace) {
        let hint = if url.starts_with('/') {
            "a file of the control node is given as src; of a file on the node PVE takes only the \
             name of a volume, STORAGE:import/NAME, which is there already"
        } else {
            "http://... or https://..."
        };
        return Err(Failure::new(format!("{option}: '{}' is no address: {hint}", shown(url))));
    }
    Ok(())
}

/// What a node fetches it stores as it is, but for the compressions of an installation medium.
fn by_node(params: &Params, url: &str) -> Result<Origin, Failure> {
    let told = match params.decompress {
        Decompress::None => None,
        Decompress::Auto if params.content == Content::Vztmpl => None,
        Decompress::Auto => ending(names::last_part(url)),
        Decompress::Xz => Some("xz"),
        Decompress::Zst => Some("zst"),
        Decompress::Gz => Some("gz"),
        Decompress::Bz2 => Some("bz2"),
        Decompress::Lzo => Some("lzo"),
    };
    let word = told.map(|told| if told == "zstd" { "zst" } else { told });
    if let Some(word) = word {
        let reason = match params.content {
            Content::Iso if matches!(word, "gz" | "zst" | "lzo" | "bz2") => None,
            Content::Iso => Some(format!(
                "a node decompresses an installation medium of gz, zst, lzo and bz2, and this is {word}"
            )),
            other => Some(format!(
                "a node decompresses files of content iso only, and this is content {} in {word}",
                other.word()
            )),
        };
        if let Some(reason) = reason {
            let remedy = if matches!(word, "lzo" | "lz4") {
                "decompress it and give it as src"
            } else {
                "set via=controller, and the control node fetches, decompresses and uploads it"
            };
            return Err(Failure::new(format!("{}: {reason}: {remedy}", shown(url))));
        }
    }
    Ok(Origin::Node { url: url.to_owned(), compression: word })
}

fn upload(params: &Params, source: Source) -> Result<Origin, Failure> {
    let place = match &source {
        Source::File(path) => path.display().to_string(),
        Source::Url(url) => url.clone(),
    };
    let compression = match params.decompress {
        // a template is unpacked where a container is made of it
        Decompress::Auto if params.content == Content::Vztmpl => Decompress::None,
        Decompress::Auto => match ending(names::last_part(&place)) {
            None => Decompress::None,
            Some("xz") => Decompress::Xz,
            Some("zst" | "zstd") => Decompress::Zst,
            Some("gz") => Decompress::Gz,
            Some("bz2") => Decompress::Bz2,
            Some(other) => return Err(unknown(other)),
        },
        Decompress::Lzo => return Err(unknown("lzo")),
        given => given,
    };
    Ok(Origin::Upload { source, compression })
}

fn unknown(word: &str) -> Failure {
    Failure::new(format!(
        "decompress: the control node decompresses xz, zst, gz and bz2, and this is {word}: \
         decompress it first"
    ))
}

fn checksum(params: &Params, origin: &Origin) -> Result<Option<Checksum>, Failure> {
    let given = params.checksum.as_deref().map(str::parse::<Checksum>).transpose();
    let given = given.map_err(|error| Failure::new(format!("checksum: {error}")))?;
    let local = matches!(origin, Origin::Upload { source: Source::File(_), .. });
    if given.is_none() && !local && !params.allow_unverified {
        return Err(Failure::new(
            "checksum: it is missing: give the publisher's sha256:... or sha512:..., or set \
             allow_unverified to take whatever is there",
        ));
    }
    Ok(given)
}
