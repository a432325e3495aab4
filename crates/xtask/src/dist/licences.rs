//! The licence texts of the foreign crates: each text once, under the crates that carry it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::crates::{Crate, Crates};
use crate::workspace::{entries, file_name};

const HEAD: &str = "\
The binaries in this collection are linked statically. Besides the crates below they hold the
standard library of Rust (MIT OR Apache-2.0) and the C library of the machine they were built on:
the GNU C Library (LGPL-2.1-or-later), or musl (MIT). Their sources: https://www.rust-lang.org,
https://sourceware.org/glibc, https://musl.libc.org. The source of everything else is named by the
bill of materials beside this file, sbom.cdx.json.
";

/// The beginnings of the names of files that hold terms.
const NAMES: [&str; 5] = ["licence", "license", "copying", "notice", "copyright"];

pub(super) fn text(linked: &Crates) -> Result<String> {
    let mut texts: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut bare = Vec::new();
    for package in linked.foreign() {
        ensure!(!package.licence.is_empty(), "{} states no licence", package.name);
        let shown = format!("{} {} ({})", package.name, package.version, package.licence);
        let found = terms(&package.folder)?;
        if found.is_empty() {
            bare.push((package, shown));
            continue;
        }
        for text in found {
            texts.entry(text).or_default().push(shown.clone());
        }
    }
    for (package, shown) in bare {
        let text = borrowed(package, linked)?.with_context(|| {
            format!("{} brings no licence text, and no other crate has it", package.name)
        })?;
        texts.entry(text).or_default().push(shown);
    }
    let mut blocks: Vec<(Vec<String>, String)> =
        texts.into_iter().map(|(text, crates)| (crates, text)).collect();
    blocks.sort();
    let rule = "=".repeat(78);
    let mut page = HEAD.to_owned();
    for (crates, text) in blocks {
        page.push_str(&format!("\n{rule}\n{}\n{rule}\n\n{}\n", crates.join("\n"), text.trim_end()));
    }
    Ok(page)
}

/// The texts that lie in the folder of a crate.
fn terms(folder: &Path) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for path in entries(folder)? {
        let name = file_name(&path).to_lowercase();
        if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            let bytes = fs::read(&path).with_context(|| path.display().to_string())?;
            found.push(String::from_utf8_lossy(&bytes).replace("\r\n", "\n"));
        }
    }
    Ok(found)
}

/// For a crate that was packed without its text: the text of one with the same terms, preferably
/// by the same hands, which is one whose name begins alike.
fn borrowed(package: &Crate, linked: &Crates) -> Result<Option<String>> {
    let alike = |other: &&Crate| {
        package.name.bytes().zip(other.name.bytes()).take_while(|(a, b)| a == b).count()
    };
    let mut others: Vec<&Crate> = linked
        .foreign()
        .filter(|other| other.name != package.name && other.licence == package.licence)
        .collect();
    others.sort_by_key(|other| std::cmp::Reverse(alike(other)));
    for other in others {
        let found = terms(&other.folder)?;
        if !found.is_empty() {
            return Ok(Some(found.join("\n")));
        }
    }
    Ok(None)
}
