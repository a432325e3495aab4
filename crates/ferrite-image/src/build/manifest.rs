//! What an image was made from and what is in it, beside the image.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use images::shown;
use serde::Serialize;
use serde_json::{Value, json};

use super::chroot::Chroot;
use super::spec::{Source, Spec};
use crate::program;

/// An installed package.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(super) struct Package {
    name: String,
    version: String,
    architecture: String,
}

/// The manifest of an output.
#[must_use]
pub fn path(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".json");
    PathBuf::from(name)
}

/// All that is installed.
pub(super) fn packages(inside: &Chroot) -> Result<Vec<Package>> {
    let format = "-f${binary:Package}\\t${Version}\\t${Architecture}\\t${db:Status-Abbrev}\\n";
    let mut query = inside.command("dpkg-query");
    query.args(["-W", format]);
    parse(&program::finish(&mut query)?)
}

fn parse(told: &str) -> Result<Vec<Package>> {
    let mut found = Vec::new();
    for line in told.lines() {
        let mut words = line.split('\t');
        let mut next = || words.next().unwrap_or_default().trim().to_owned();
        let (name, version, architecture, status) = (next(), next(), next(), next());
        match status.as_str() {
            "ii" => {
                // Names of packages that can be there twice have an architecture of their own.
                let name = name.split(':').next().unwrap_or_default().to_owned();
                found.push(Package { name, version, architecture });
            }
            "rc" | "un" | "pn" => {}
            status => bail!("{name} is not wholly installed: dpkg says {status}"),
        }
    }
    found.sort();
    Ok(found)
}

/// The manifest. Nothing in it changes from one build to the next but what is in the image.
pub(super) fn manifest(
    spec: &Spec,
    files: &[(String, String)],
    packages: &[Package],
    output: &Value,
) -> Value {
    let place = |place: &Option<String>| place.as_deref().map(shown);
    let source = match &spec.source {
        Source { pinned: Some(pinned), catalog, .. } => json!({
            "catalog": catalog,
            "image": shown(&pinned.url),
            "checksum": pinned.checksum.to_string(),
        }),
        Source { image: Some(image), checksum, .. } => {
            json!({ "image": shown(image), "checksum": checksum })
        }
        Source { suite, mirror, .. } => json!({ "suite": suite, "mirror": place(mirror) }),
    };
    let snapshot =
        spec.snapshot.as_ref().map(|s| json!({ "id": s.id, "mirror": place(&s.mirror) }));
    let files: Vec<Value> =
        files.iter().map(|(path, sum)| json!({ "path": path, "checksum": sum })).collect();
    json!({
        "name": spec.name,
        "made_by": concat!("ferrite-image ", env!("CARGO_PKG_VERSION")),
        "inputs": {
            "source": source,
            "snapshot": snapshot,
            "packages": spec.packages,
            "files": files,
            "commands": spec.commands,
        },
        "packages": packages,
        "output": output,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_listed_and_half_installed_ones_told() {
        let told = "zlib1g:amd64\t1:1.3\tamd64\tii \nadduser\t3.1\tall\tii \nold\t1\tall\trc \n";
        let found = parse(told).unwrap();
        let row = |name: &str, version: &str, architecture: &str| Package {
            name: name.into(),
            version: version.into(),
            architecture: architecture.into(),
        };
        assert_eq!(found, [row("adduser", "3.1", "all"), row("zlib1g", "1:1.3", "amd64")]);
        let said = parse("x\t1\tall\tiF \n").unwrap_err().to_string();
        assert_eq!(said, "x is not wholly installed: dpkg says iF");
    }
}
