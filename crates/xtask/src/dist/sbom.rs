//! The bill of materials, in `CycloneDX` 1.5 (<https://cyclonedx.org/docs/1.5/json/>). No date and no
//! serial number, so that two builds give the same bytes.

use anyhow::Result;
use serde_json::{Value, json};

use super::crates::{Crate, Crates};
use crate::workspace::COLLECTION;

pub(super) fn document(linked: &Crates, version: &str) -> Result<String> {
    let whole = format!("pkg:generic/{COLLECTION}@{version}");
    let ours: Vec<String> = linked.0.values().filter(|c| c.is_ours).map(Crate::purl).collect();
    let mut dependencies = vec![json!({"ref": whole, "dependsOn": ours})];
    dependencies.extend(
        linked.0.values().map(|package| json!({"ref": package.purl(), "dependsOn": package.needs})),
    );
    let document = json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"component": {
            "type": "application", "bom-ref": whole, "name": COLLECTION, "version": version,
            "purl": whole, "licenses": [{"expression": "GPL-3.0-or-later"}],
        }},
        "components": linked.0.values().map(component).collect::<Vec<Value>>(),
        "dependencies": dependencies,
    });
    Ok(serde_json::to_string_pretty(&document)? + "\n")
}

fn component(package: &Crate) -> Value {
    let mut component = json!({
        "type": "library", "bom-ref": package.purl(), "name": package.name,
        "version": package.version, "purl": package.purl(),
        // the older notation of crates that were made before SPDX expressions
        "licenses": [{"expression": package.licence.replace('/', " OR ")}],
    });
    if let Some(checksum) = &package.checksum {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::{BTreeMap, BTreeSet};
    use std::path::PathBuf;

    #[test]
    fn every_crate_stands_in_it_with_what_it_needs() {
        let made = |name: &str, ours: bool, needs: &[&str]| Crate {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            licence: "MIT/Apache-2.0".to_owned(),
            folder: PathBuf::new(),
            checksum: (!ours).then(|| "ab12".to_owned()),
            is_ours: ours,
            needs: needs
                .iter()
                .map(|name| format!("pkg:cargo/{name}@1.0.0"))
                .collect::<BTreeSet<_>>(),
        };
        let crates = [made("tool", true, &["near"]), made("near", false, &[])];
        let linked = Crates(crates.into_iter().map(|c| (c.purl(), c)).collect::<BTreeMap<_, _>>());
        let document: Value = serde_json::from_str(&document(&linked, "0.1.0").unwrap()).unwrap();
        assert_eq!(document["dependencies"][0]["dependsOn"], json!(["pkg:cargo/tool@1.0.0"]));
        assert_eq!(document["components"][0]["name"], "near");
        assert_eq!(document["components"][0]["hashes"][0]["content"], "ab12");
        assert_eq!(document["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(document["components"][1]["name"], "tool");
        assert_eq!(document["components"][1].get("hashes"), None);
        assert_eq!(document["dependencies"][2]["dependsOn"], json!(["pkg:cargo/near@1.0.0"]));
    }
}
