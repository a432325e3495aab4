//! What has to change. Pure: the table below is the module's behaviour.

use std::fmt;

use pve_types::{ConfigDigest, StorageId};

use crate::observe::Found;
use crate::params::Params;

/// The word of a list that names nothing; PVE does not take it beside others.
const NONE: &str = "none";

/// One step.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Writes the list with what is new at its end.
    Add {
        /// The storage.
        storage: StorageId,
        /// What is new.
        new: Vec<String>,
        /// The whole list as it is written.
        list: Vec<String>,
        /// What was read.
        digest: Option<ConfigDigest>,
    },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Add { storage, new, .. } = self;
        write!(f, "add {} to the content of storage {storage}", new.join(", "))
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Vec<Change> {
    let mut list: Vec<String> =
        found.content.iter().filter(|word| *word != NONE).cloned().collect();
    let mut new = Vec::new();
    for word in &params.content {
        if !list.contains(word) {
            list.push(word.clone());
            new.push(word.clone());
        }
    }
    if new.is_empty() {
        return Vec::new();
    }
    vec![Change::Add { storage: params.storage.clone(), new, list, digest: found.digest.clone() }]
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_there_stays() {
        for (name, there, wanted, written) in [
            ("as asked for", "iso,import", json!(["import"]), None),
            ("one is missing", "iso,vztmpl", json!(["import"]), Some("iso,vztmpl,import")),
            ("some are", "iso", json!(["import", "iso", "snippets"]), Some("iso,import,snippets")),
            ("said twice", "iso", json!(["import", "import"]), Some("iso,import")),
            ("nothing there", "none", json!(["import"]), Some("import")),
            ("unheard of", "iso,tapes", json!(["import"]), Some("iso,tapes,import")),
        ] {
            let params = serde_json::from_value(
                json!({"api_host": "pve1", "storage": "local", "content": wanted}),
            )
            .unwrap();
            let found = Found {
                content: there.split(',').map(str::to_owned).collect(),
                ..Found::default()
            };
            let plan = plan(&params, &found);
            let list = plan.first().map(|Change::Add { list, .. }| list.join(","));
            assert_eq!(list.as_deref(), written, "{name}");
        }
    }
}
