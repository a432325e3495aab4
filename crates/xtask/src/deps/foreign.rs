//! What is true of every crate that is not ours: where it comes from, under which licence, and that
//! it is none of those we decided against.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::workspace::Workspace;

const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";
/// Crates that must not come in, also not through another one, and why.
const BANNED: [(&str, &str); 5] = [
    ("aws-lc-sys", "ring is our cryptography, half the size"),
    ("native-tls", "a static binary would have to bring OpenSSL"),
    ("openssl-sys", "a static binary would have to bring OpenSSL"),
    ("serde_yaml", "it is unmaintained, serde_yaml_ng continues it"),
    ("h2", "pveproxy does not speak HTTP/2"),
];

/// What is wrong with the crates that are built for our target.
pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let target = workspace.default_target()?;
    let output = workspace
        .cargo()
        .args(["metadata", "--format-version", "1", "--filter-platform", &target])
        .output()?;
    ensure!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr).trim());
    let metadata: Value = serde_json::from_slice(&output.stdout)?;
    let allowed: BTreeSet<&str> = workspace.metadata["metadata"]["ferrite"]["licenses"]
        .as_array()
        .context("no list of licences in Cargo.toml")?
        .iter()
        .filter_map(Value::as_str)
        .collect();
    // those for other systems are listed too, but not built
    let nodes = metadata["resolve"]["nodes"].as_array().into_iter().flatten();
    let built: BTreeSet<&str> = nodes.filter_map(|node| node["id"].as_str()).collect();
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let built =
        packages.filter(|package| package["id"].as_str().is_some_and(|id| built.contains(id)));
    Ok(built.flat_map(|package| wrong_with(package, &allowed)).collect())
}

fn wrong_with(package: &Value, allowed: &BTreeSet<&str>) -> Vec<String> {
    let name = package["name"].as_str().unwrap_or_default();
    let mut wrong = Vec::new();
    if let Some(source) = package["source"].as_str().filter(|source| *source != REGISTRY) {
        wrong.push(format!("{name} comes from {source}"));
    }
    if let Some((_, reason)) = BANNED.iter().find(|(banned, _)| *banned == name) {
        wrong.push(format!("{name} must not be used: {reason}"));
    }
    let licence = package["license"].as_str().unwrap_or_default();
    if !is_allowed(licence, allowed) {
        wrong.push(format!("{name} has the licence {licence:?}, which Cargo.toml does not allow"));
    }
    wrong
}

/// Whether a licence expression can be met with the allowed licences.
fn is_allowed(expression: &str, allowed: &BTreeSet<&str>) -> bool {
    // the slash is what expressions had before OR
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let tokens: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = tokens.as_slice();
    either(&mut rest, allowed) && rest.is_empty()
}

fn either(rest: &mut &[&str], allowed: &BTreeSet<&str>) -> bool {
    let mut met = both(rest, allowed);
    while let ["OR", after @ ..] = rest {
        *rest = after;
        met |= both(rest, allowed);
    }
    met
}

fn both(rest: &mut &[&str], allowed: &BTreeSet<&str>) -> bool {
    let mut met = one(rest, allowed);
    while let ["AND", after @ ..] = rest {
        *rest = after;
        met &= one(rest, allowed);
    }
    met
}

fn one(rest: &mut &[&str], allowed: &BTreeSet<&str>) -> bool {
    match rest {
        ["(", after @ ..] => {
            *rest = after;
            let met = either(rest, allowed);
            let [")", after @ ..] = rest else { return false };
            *rest = after;
            met
        }
        // an exception only ever allows more
        [licence, "WITH", _, after @ ..] | [licence, after @ ..] => {
            let met = allowed.contains(licence);
            *rest = after;
            met
        }
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn licence_expressions_are_read() {
        let allowed: BTreeSet<&str> = ["MIT", "Apache-2.0", "ISC"].into();
        for (expression, met) in [
            ("MIT", true),
            ("GPL-2.0-only", false),
            ("MIT OR GPL-2.0-only", true),
            ("MIT AND GPL-2.0-only", false),
            ("(MIT OR X) AND ISC", true),
            ("(X OR Y) AND ISC", false),
            ("Apache-2.0 WITH LLVM-exception OR X", true),
            ("X/MIT", true),
            ("", false),
            ("(MIT", false),
            ("MIT MIT", false),
        ] {
            assert_eq!(is_allowed(expression, &allowed), met, "{expression}");
        }
    }

    #[test]
    fn a_crate_is_refused_for_each_reason() {
        let allowed: BTreeSet<&str> = ["MIT"].into();
        for (package, wrong) in [
            (json!({"name": "a", "license": "MIT", "source": REGISTRY}), vec![]),
            (json!({"name": "ours", "license": "MIT", "source": null}), vec![]),
            (json!({"name": "a", "license": "MIT", "source": "git+x"}), vec!["a comes from git+x"]),
            (
                json!({"name": "a", "license": "X", "source": REGISTRY}),
                vec!["a has the licence \"X\", which Cargo.toml does not allow"],
            ),
            (
                json!({"name": "h2", "license": "MIT", "source": REGISTRY}),
                vec!["h2 must not be used: pveproxy does not speak HTTP/2"],
            ),
        ] {
            assert_eq!(wrong_with(&package, &allowed), wrong, "{package}");
        }
    }
}
