//! The foreign crates that end up inside of what is shipped.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::install;
use crate::workspace::Workspace;

/// One crate as Cargo knows it.
pub(super) struct Crate {
    pub(super) name: String,
    pub(super) version: String,
    /// As an SPDX expression.
    pub(super) licence: String,
    pub(super) folder: PathBuf,
    /// SHA-256 of the package, from the lock file; none for our own.
    pub(super) checksum: Option<String>,
    pub(super) is_ours: bool,
    /// Keys of the crates that it links.
    pub(super) needs: BTreeSet<String>,
}

impl Crate {
    /// The package URL: <https://github.com/package-url/purl-spec>.
    pub(super) fn purl(&self) -> String {
        format!("pkg:cargo/{}@{}", self.name, self.version)
    }
}

/// All crates that are linked into the shipped binaries, ours among them, by their package URL.
pub(super) struct Crates(pub(super) BTreeMap<String, Crate>);

impl Crates {
    pub(super) fn linked_in(workspace: &Workspace) -> Result<Self> {
        let target = install::target(workspace)?;
        let output = workspace
            .cargo()
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &target])
            .output()
            .context("cargo cannot be run")?;
        ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
        let metadata: Value = serde_json::from_slice(&output.stdout)?;
        let lock = std::fs::read_to_string(workspace.path("Cargo.lock"))?;
        walk(&metadata, &install::shipped_packages(workspace)?, &checksums(&lock))
    }

    pub(super) fn foreign(&self) -> impl Iterator<Item = &Crate> {
        self.0.values().filter(|package| !package.is_ours)
    }
}

/// Follows the edges of normal dependencies: what builds or tests a crate is not inside of it.
fn walk(
    metadata: &Value,
    roots: &[String],
    checksums: &BTreeMap<(String, String), String>,
) -> Result<Crates> {
    let array = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages: BTreeMap<String, Value> =
        array(&metadata["packages"]).into_iter().map(|p| (text(&p["id"]), p)).collect();
    let nodes: BTreeMap<String, Value> =
        array(&metadata["resolve"]["nodes"]).into_iter().map(|n| (text(&n["id"]), n)).collect();
    let is_macro = |id: &str| {
        packages.get(id).is_some_and(|package| {
            array(&package["targets"])
                .iter()
                .any(|target| array(&target["kind"]).contains(&Value::from("proc-macro")))
        })
    };
    let ids: BTreeSet<String> = packages
        .iter()
        .filter(|(_, package)| {
            package["source"].is_null() && roots.contains(&text(&package["name"]))
        })
        .map(|(id, _)| id.clone())
        .collect();
    ensure!(ids.len() == roots.len(), "not all of {} are packages", roots.join(", "));
    let mut waiting: Vec<String> = ids.into_iter().collect();
    let mut edges: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    while let Some(id) = waiting.pop() {
        if edges.contains_key(&id) {
            continue;
        }
        let node = nodes.get(&id).with_context(|| format!("{id} is not resolved"))?;
        let needs: BTreeSet<String> = array(&node["deps"])
            .iter()
            .filter(|edge| array(&edge["dep_kinds"]).iter().any(|kind| kind["kind"].is_null()))
            .map(|edge| text(&edge["pkg"]))
            .filter(|id| !is_macro(id))
            .collect();
        waiting.extend(needs.iter().cloned());
        edges.insert(id, needs);
    }
    let mut found = BTreeMap::new();
    for (id, needs) in &edges {
        let package = packages.get(id).with_context(|| format!("{id} is unknown"))?;
        let (name, version) = (text(&package["name"]), text(&package["version"]));
        let manifest = text(&package["manifest_path"]);
        let folder = Path::new(&manifest).parent().context("a manifest is in a folder")?;
        let made = Crate {
            licence: text(&package["license"]),
            folder: folder.to_owned(),
            checksum: checksums.get(&(name.clone(), version.clone())).cloned(),
            is_ours: package["source"].is_null(),
            needs: needs
                .iter()
                .filter_map(|id| packages.get(id))
                .map(|need| format!("pkg:cargo/{}@{}", text(&need["name"]), text(&need["version"])))
                .collect(),
            name,
            version,
        };
        found.insert(made.purl(), made);
    }
    Ok(Crates(found))
}

/// The checksums of a lock file by name and version. Its form is fixed: one key a line.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for entry in lock.split("[[package]]") {
        let value = |key: &str| {
            entry.lines().find_map(|line| {
                line.strip_prefix(key)?.strip_prefix(" = \"")?.strip_suffix('"').map(str::to_owned)
            })
        };
        if let (Some(name), Some(version), Some(sum)) =
            (value("name"), value("version"), value("checksum"))
        {
            found.insert((name, version), sum);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_linked_is_found_and_what_only_builds_or_tests_is_not() {
        let package = |name: &str, ours: bool, kind: &str| {
            json!({
                "id": name, "name": name, "version": "1.0.0", "license": "MIT",
                "manifest_path": format!("/src/{name}/Cargo.toml"),
                "source": if ours { Value::Null } else { json!("registry") },
                "targets": [{"kind": [kind]}],
            })
        };
        let edge = |name: &str, kind: Value| json!({"pkg": name, "dep_kinds": [{"kind": kind}]});
        let metadata = json!({
            "packages": [
                package("tool", true, "bin"), package("lib", true, "lib"),
                package("near", false, "lib"), package("far", false, "lib"),
                package("derive", false, "proc-macro"), package("for-build", false, "lib"),
                package("for-test", false, "lib"), package("other", true, "bin"),
            ],
            "resolve": {"nodes": [
                {"id": "tool", "deps": [
                    edge("lib", Value::Null), edge("derive", Value::Null),
                    edge("for-build", json!("build")), edge("for-test", json!("dev")),
                ]},
                {"id": "lib", "deps": [edge("near", Value::Null)]},
                {"id": "near", "deps": [edge("far", Value::Null)]},
                {"id": "far", "deps": []},
            ]},
        });
        let sums = checksums(
            "[[package]]\nname = \"near\"\nversion = \"1.0.0\"\nchecksum = \"ab12\"\n\n\
             [[package]]\nname = \"tool\"\nversion = \"1.0.0\"\n",
        );
        let found = walk(&metadata, &["tool".to_owned()], &sums).unwrap();
        let names: Vec<&str> = found.0.values().map(|found| found.name.as_str()).collect();
        assert_eq!(names, ["far", "lib", "near", "tool"]);
        let near = &found.0["pkg:cargo/near@1.0.0"];
        assert_eq!(near.checksum.as_deref(), Some("ab12"));
        assert_eq!(near.needs, BTreeSet::from(["pkg:cargo/far@1.0.0".to_owned()]));
        let foreign: Vec<&str> = found.foreign().map(|found| found.name.as_str()).collect();
        assert_eq!(foreign, ["far", "near"]);
        assert!(walk(&metadata, &["absent".to_owned()], &sums).is_err());
    }
}
