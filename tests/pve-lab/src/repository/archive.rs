//! What the package server serves, as a tree of files in the cache.
//!
//! Each archive has one package whose version tells which snapshot a guest sees: `ferrite-demo` in
//! the main archive, `ferrite-demo-security` in the one for security.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sha2::{Digest, Sha256};

use crate::guests::host;
use crate::image::{GpgHome, Suite, Trust, cache};

/// A dated copy of the archives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Snapshot {
    /// Its identifier.
    pub id: &'static str,
    /// The version of `ferrite-demo` in it.
    pub version: &'static str,
    date: &'static str,
    valid_until: &'static str,
}

/// The snapshots, oldest first. Both have expired, as snapshots do.
pub const SNAPSHOTS: [Snapshot; 2] = [
    Snapshot {
        id: "20250101T000000Z",
        version: "1.0",
        date: "Wed, 01 Jan 2025 00:00:00 UTC",
        valid_until: "Wed, 08 Jan 2025 00:00:00 UTC",
    },
    Snapshot {
        id: "20250601T000000Z",
        version: "2.0",
        date: "Sun, 01 Jun 2025 00:00:00 UTC",
        valid_until: "Sun, 08 Jun 2025 00:00:00 UTC",
    },
];

/// The version of `ferrite-demo` in the live archive.
pub const LIVE_VERSION: &str = "3.0";

/// Raised with any change of what is made here.
const RECIPE: &str = "2";

/// The two archives: their name, the ends of their suites, the package in them.
const ARCHIVES: [Archive; 2] = [
    Archive { name: "debian", label: "Debian", suites: &["", "-updates"], package: "ferrite-demo" },
    Archive {
        name: "debian-security",
        label: "Debian-Security",
        suites: &["-security"],
        package: "ferrite-demo-security",
    },
];

struct Archive {
    name: &'static str,
    label: &'static str,
    suites: &'static [&'static str],
    package: &'static str,
}

/// Who signs.
struct Signers {
    own: GpgHome,
    foreign: GpgHome,
}

/// What is added to the name of an `InRelease` that nobody trusts, and of one that has expired.
pub(super) const FORGED: &str = ".forged";
pub(super) const EXPIRED: &str = ".expired";

/// One state of the archives, to be written below a directory.
struct State<'a> {
    version: &'a str,
    date: &'a str,
    valid_until: &'a str,
}

/// The tree to serve, made now if this week's is not in the cache.
pub(super) fn ensure(trust: &Trust) -> Result<PathBuf> {
    let key = cache::key(&[RECIPE, &trust.identity()?]);
    let name = format!("{key}-{}-repository", cache::week());
    cache::entry(&name, |root| build(trust, root).context("cannot make the package archives"))
}

fn build(trust: &Trust, root: &Path) -> Result<()> {
    let signers = Signers { own: trust.signer()?, foreign: Trust::foreign_signer()? };
    let format = "+%a, %d %b %Y %H:%M:%S UTC";
    let date = host::run("date", ["-u", format])?;
    // The tree is made anew each week.
    let valid_until = host::run("date", ["-u", "-d", "+28 days", format])?;
    let live = State { version: LIVE_VERSION, date: date.trim(), valid_until: valid_until.trim() };
    for archive in &ARCHIVES {
        publish(archive, &live, &root.join(archive.name), &signers)?;
        for snapshot in &SNAPSHOTS {
            let state = State {
                version: snapshot.version,
                date: snapshot.date,
                valid_until: snapshot.valid_until,
            };
            let place = root.join("archive").join(archive.name).join(snapshot.id);
            publish(archive, &state, &place, &signers)?;
        }
    }
    Ok(())
}

fn publish(archive: &Archive, state: &State<'_>, place: &Path, signers: &Signers) -> Result<()> {
    let paragraph = package(archive.package, state.version, place)?;
    for suite in Suite::ALL {
        for end in archive.suites {
            let name = format!("{}{end}", suite.as_str());
            // Updates between point releases are none here.
            let packages = if *end == "-updates" { "" } else { &paragraph };
            let dists = place.join("dists").join(&name);
            let binary = dists.join("main/binary-amd64");
            fs::create_dir_all(&binary)?;
            fs::write(binary.join("Packages"), packages)?;
            let text = release(archive, state, suite, end, packages);
            fs::write(dists.join("Release"), &text)?;
            sign(&signers.own, &text, &dists.join("InRelease"))?;
            // What the server gives out when it is told to.
            sign(&signers.foreign, &text, &dists.join(format!("InRelease{FORGED}")))?;
            let first = &SNAPSHOTS[0];
            let old = State { date: first.date, valid_until: first.valid_until, ..*state };
            let text = release(archive, &old, suite, end, packages);
            sign(&signers.own, &text, &dists.join(format!("InRelease{EXPIRED}")))?;
        }
    }
    Ok(())
}

fn sign(signer: &GpgHome, text: &str, target: &Path) -> Result<()> {
    let plain = target.with_extension("plain");
    fs::write(&plain, text)?;
    host::finish(signer.gpg().arg("--output").arg(target).arg("--clearsign").arg(&plain))?;
    fs::remove_file(&plain)?;
    Ok(())
}

/// Builds the package into the pool and returns its paragraph in `Packages`.
fn package(name: &str, version: &str, place: &Path) -> Result<String> {
    let file = format!("pool/main/f/{name}/{name}_{version}_all.deb");
    let target = place.join(&file);
    let tree = place.join("tree");
    fs::create_dir_all(tree.join("DEBIAN"))?;
    fs::create_dir_all(tree.join("usr/share").join(name))?;
    if let Some(pool) = target.parent() {
        fs::create_dir_all(pool)?;
    }
    let control = format!(
        "Package: {name}\nVersion: {version}\nArchitecture: all\nSection: misc\n\
         Priority: optional\nMaintainer: Ferrite lab <lab@ferrite.invalid>\n\
         Description: package of the lab whose version names a snapshot\n"
    );
    fs::write(tree.join("DEBIAN/control"), &control)?;
    fs::write(tree.join("usr/share").join(name).join("version"), format!("{version}\n"))?;
    host::finish(
        host::command("dpkg-deb").args(["--root-owner-group", "--build"]).arg(&tree).arg(&target),
    )?;
    fs::remove_dir_all(&tree)?;
    let content = fs::read(&target)?;
    Ok(format!(
        "{control}Filename: {file}\nSize: {}\nSHA256: {}\n\n",
        content.len(),
        sha256(&content)
    ))
}

fn release(
    archive: &Archive,
    state: &State<'_>,
    suite: Suite,
    end: &str,
    packages: &str,
) -> String {
    let stability = match suite {
        Suite::Trixie => "stable",
        Suite::Bookworm => "oldstable",
    };
    let mut text = String::new();
    for (field, value) in [
        ("Origin", "Debian"),
        ("Label", archive.label),
        ("Suite", &format!("{stability}{end}")),
        ("Version", suite.version()),
        ("Codename", &format!("{}{end}", suite.as_str())),
        ("Date", state.date),
        ("Valid-Until", state.valid_until),
        (
            "Snapshots",
            &format!("https://snapshot.debian.org/archive/{}/@SNAPSHOTID@/", archive.name),
        ),
        ("Architectures", "all amd64"),
        ("Components", "main"),
        ("Description", "an archive of the lab"),
    ] {
        let _ = writeln!(text, "{field}: {value}");
    }
    let _ = writeln!(
        text,
        "SHA256:\n {} {} main/binary-amd64/Packages",
        sha256(packages.as_bytes()),
        packages.len()
    );
    text
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect()
}
