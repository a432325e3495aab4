//! Which archive a source is of, and where that archive's snapshots are.
//!
//! A host that is known tells by itself. Any other host is believed only through the Release file
//! that apt verified (Origin, Label, Snapshots): `https://download.docker.com/linux/debian` ends
//! like a mirror of Debian and is none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::snapshot_id::SnapshotId;

/// The areas of snapshot.debian.org.
const AREAS: [&str; 7] = [
    "debian",
    "debian-security",
    "debian-debug",
    "debian-ports",
    "debian-backports",
    "debian-volatile",
    "debian-archive",
];
const DEBIAN_BEGAN: &str = "20050312T000000Z";
const UBUNTU_BEGAN: &str = "20230301T000000Z";
const ID: &str = "@SNAPSHOTID@";
const PATH: &str = "@PATH@";

/// What a cached Release file says of its archive.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Release {
    pub(crate) origin: String,
    pub(crate) label: String,
    /// The template of snapshot addresses that the archive itself names.
    pub(crate) snapshots: Option<String>,
}

impl Release {
    /// The fields of a Release or InRelease file.
    pub(crate) fn parse(text: &str) -> Self {
        let field = |name: &str| {
            text.lines().find_map(|line| {
                let (key, value) = line.split_once(':')?;
                key.eq_ignore_ascii_case(name).then(|| value.trim().to_owned())
            })
        };
        Self {
            origin: field("Origin").unwrap_or_default(),
            label: field("Label").unwrap_or_default(),
            snapshots: field("Snapshots").filter(|template| template.contains(ID)),
        }
    }
}

/// Where the snapshot of a source is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Pin {
    /// The archive's name: `debian`, `debian-security`, `ubuntu`, `ppa`, or its origin.
    pub(crate) archive: String,
    pub(crate) uri: String,
}

/// Finds the snapshot of an archive. The reason, if there is none, completes "is not pinned: ".
pub(crate) fn pin(
    uri: &str,
    release: Option<&Release>,
    servers: &BTreeMap<String, String>,
    id: &SnapshotId,
) -> Result<Pin, String> {
    let parts =
        Uri::parse(uri).ok_or_else(|| format!("{} is not fetched over a network", mask(uri)))?;
    let archive = classify(&parts, release);
    let template = servers
        .iter()
        .find(|(key, _)| serves(key, uri, &parts, archive.as_ref().map(Archive::name)))
        .map(|(_, template)| template.clone());
    if let Some(template) = template {
        let name =
            archive.map_or_else(|| parts.host.to_owned(), |archive| archive.name().to_owned());
        return Ok(Pin { archive: name, uri: expand(&template, parts.path, id, uri) });
    }
    let archive = archive.ok_or_else(|| unknown(&parts, release))?;
    if let Some(began) = archive.began().filter(|began| id.as_str() < *began) {
        return Err(format!("the snapshots of {} begin at {began}", archive.name()));
    }
    let pinned = match &archive {
        Archive::Snapshot(before) => format!("{before}/{id}"),
        Archive::Debian(area) => {
            format!("{}://snapshot.debian.org/archive/{area}/{id}", parts.scheme)
        }
        Archive::Ubuntu => format!("{}://snapshot.ubuntu.com/ubuntu/{id}", parts.scheme),
        Archive::Ppa(path) => {
            format!("{}://snapshot.ppa.launchpadcontent.net/{path}/{id}", parts.scheme)
        }
        Archive::Named(_, template) => expand(template, parts.path, id, uri),
    };
    let slash = if uri.ends_with('/') && !pinned.ends_with('/') { "/" } else { "" };
    Ok(Pin { archive: archive.name().to_owned(), uri: format!("{pinned}{slash}") })
}

/// A URI without the user and password in it.
pub(crate) fn mask(uri: &str) -> String {
    let Some((scheme, rest)) = uri.split_once("://") else { return uri.to_owned() };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    match authority.rsplit_once('@') {
        Some((_, host)) => format!("{scheme}://***@{host}{path}"),
        None => uri.to_owned(),
    }
}

/// Whether two URIs name the same archive root.
pub(crate) fn same(a: &str, b: &str) -> bool {
    a.trim_end_matches('/') == b.trim_end_matches('/')
}

/// Whether two URIs name the same archive root, over http or https: apt's own method takes the
/// scheme from the archive's Release file once it has that, and the signature decides anyway.
pub(crate) fn same_place(a: &str, b: &str) -> bool {
    let place = |uri: &str| -> String {
        let bare = uri.trim_start_matches("https://").trim_start_matches("http://");
        bare.trim_end_matches('/').to_owned()
    };
    place(a) == place(b)
}

/// The host of a network URI.
pub(crate) fn host(uri: &str) -> Option<&str> {
    Uri::parse(uri).map(|parts| parts.host)
}

/// The path of a network URI, without slashes at either end.
pub(crate) fn path(uri: &str) -> Option<&str> {
    Uri::parse(uri).map(|parts| parts.path)
}

#[derive(Debug)]
struct Uri<'a> {
    scheme: &'a str,
    host: &'a str,
    /// Without slashes at either end.
    path: &'a str,
}

impl<'a> Uri<'a> {
    fn parse(uri: &'a str) -> Option<Self> {
        let (scheme, rest) = uri.split_once("://")?;
        // a list of mirrors is fetched over one of these too; a snapshot has no mirrors, and no
        // snapshot archive is served over ftp
        let scheme = match scheme {
            "ftp" | "mirror" | "mirror+http" => "http",
            "mirror+https" => "https",
            _ => scheme,
        };
        if !["http", "https"].contains(&scheme.rsplit('+').next().unwrap_or(scheme)) {
            return None;
        }
        let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
        let host = authority.rsplit('@').next().unwrap_or(authority);
        let host = host.split(':').next().unwrap_or(host);
        (!host.is_empty()).then(|| Self { scheme, host, path: path.trim_matches('/') })
    }
}

enum Archive {
    /// A snapshot already, chosen by hand or by a former run: all before the id.
    Snapshot(String),
    Debian(String),
    Ubuntu,
    Ppa(String),
    Named(String, String),
}

impl Archive {
    fn name(&self) -> &str {
        match self {
            Self::Snapshot(before) if before.contains("/archive/") => {
                before.rsplit('/').next().unwrap_or("snapshot")
            }
            Self::Snapshot(before) if before.contains("ppa.launchpad") => "ppa",
            Self::Snapshot(before) if before.ends_with("/ubuntu") => "ubuntu",
            Self::Snapshot(_) => "snapshot",
            Self::Debian(area) => area,
            Self::Ubuntu => "ubuntu",
            Self::Ppa(_) => "ppa",
            Self::Named(origin, _) => origin,
        }
    }

    fn began(&self) -> Option<&'static str> {
        match self {
            Self::Debian(_) => Some(DEBIAN_BEGAN),
            Self::Ubuntu | Self::Ppa(_) => Some(UBUNTU_BEGAN),
            Self::Snapshot(before) if before.contains("snapshot.debian.org/") => Some(DEBIAN_BEGAN),
            Self::Snapshot(before) if before.contains("snapshot.ubuntu.com/") => Some(UBUNTU_BEGAN),
            Self::Snapshot(_) | Self::Named(..) => None,
        }
    }
}

fn classify(uri: &Uri<'_>, release: Option<&Release>) -> Option<Archive> {
    if let Some((before, last)) = uri.path.rsplit_once('/')
        && last.parse::<SnapshotId>().is_ok()
    {
        return Some(Archive::Snapshot(format!("{}://{}/{before}", uri.scheme, uri.host)));
    }
    by_host(uri).or_else(|| by_release(uri, release?))
}

fn by_host(uri: &Uri<'_>) -> Option<Archive> {
    let within = |domain: &str| {
        uri.host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let area = area(uri.path);
    match uri.host {
        "security.debian.org" | "security-cdn.debian.org" => {
            Some(Archive::Debian("debian-security".into()))
        }
        "archive.debian.org" | "incoming.debian.org" => None,
        "ppa.launchpad.net" | "ppa.launchpadcontent.net" => Some(Archive::Ppa(uri.path.to_owned())),
        _ if within("debian.org") || within("debian.net") => {
            area.map(|area| Archive::Debian(area.to_owned()))
        }
        _ if within("archive.ubuntu.com") || within("security.ubuntu.com") => {
            uri.path.starts_with("ubuntu").then_some(Archive::Ubuntu)
        }
        _ if within("ports.ubuntu.com") => {
            uri.path.starts_with("ubuntu").then_some(Archive::Ubuntu)
        }
        _ => None,
    }
}

fn by_release(uri: &Uri<'_>, release: &Release) -> Option<Archive> {
    let is = |origin: &str| release.origin == origin;
    if is("Debian") || is("Debian Backports") || is("Debian debug") || is("Debian Ports") {
        let by_label =
            if release.label == "Debian-Security" { "debian-security" } else { "debian" };
        let area = match area(uri.path) {
            // mirrors of the security archive are not always found below its own name
            Some("debian") | None => by_label,
            Some(area) => area,
        };
        return Some(Archive::Debian(area.to_owned()));
    }
    if is("Ubuntu") {
        return Some(Archive::Ubuntu);
    }
    let template = release.snapshots.clone()?;
    Some(Archive::Named(release.origin.clone(), template))
}

fn area(path: &str) -> Option<&'static str> {
    path.split('/').rev().find_map(|segment| AREAS.into_iter().find(|area| *area == segment))
}

/// Whether an entry of `servers` is for this source: by archive, by host, or by URI.
fn serves(key: &str, uri: &str, parts: &Uri<'_>, archive: Option<&str>) -> bool {
    same(key, uri) || key == parts.host || Some(key) == archive
}

fn expand(template: &str, path: &str, id: &SnapshotId, uri: &str) -> String {
    let pinned = template.replace(PATH, path).replace(ID, id.as_str());
    if uri.ends_with('/') || !pinned.ends_with('/') {
        pinned
    } else {
        pinned.trim_end_matches('/').to_owned()
    }
}

fn unknown(uri: &Uri<'_>, release: Option<&Release>) -> String {
    match release {
        Some(release) if !release.origin.is_empty() => format!(
            "no snapshots of an archive of origin '{}' are known; name them in servers, or the \
             source in allow_unpinned",
            release.origin
        ),
        Some(_) => format!("the Release file of {} names neither origin nor snapshots", uri.host),
        None => format!(
            "{} is not known, and there is no Release file of it that could tell what it mirrors",
            uri.host
        ),
    }
}

#[cfg(test)]
mod tests;
