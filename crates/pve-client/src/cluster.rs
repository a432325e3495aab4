//! `/cluster`: what the nodes know together.

use pve_types::{NodeName, Vmid, lenient};
use serde::Deserialize;
use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::form::Form;

/// One row of the cluster's list: a guest, node, storage or something newer.
///
/// It is filled every 10 s, so that a guest made since has neither name nor tags here, and one on
/// a node that is down has no more than its number.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Resource {
    /// `qemu`, `lxc`, `node`, `storage`, ...
    #[serde(rename = "type")]
    pub kind: String,
    /// The row's own id: `qemu/100`.
    #[serde(default)]
    pub id: String,
    /// The guest's number.
    #[serde(default)]
    pub vmid: Option<Vmid>,
    /// The node it is on.
    #[serde(default)]
    pub node: Option<NodeName>,
    /// The guest's name, unless the row is fresh.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub name: Option<String>,
    /// `running`, `stopped`, `unknown`, ...
    #[serde(default)]
    pub status: String,
    /// Whether it is a template.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub template: bool,
    /// Its tags, joined.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub tags: Option<String>,
    /// Its pool.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub pool: Option<String>,
    /// What it is locked by.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub lock: Option<String>,
    /// Its high-availability state.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub hastate: Option<String>,
}

impl Client {
    /// The cluster's list, of one kind (`vm`, `node`, `storage`) or all. Rows that are of no shape
    /// we know are left out.
    ///
    /// # Errors
    /// As every call.
    pub async fn resources(&self, kind: Option<&str>) -> Result<Vec<Resource>, Error> {
        let query = Form::new().maybe("type", kind);
        let rows: Vec<Value> = self.get("/cluster/resources", &query).await?;
        Ok(rows.into_iter().filter_map(|row| serde_json::from_value(row).ok()).collect())
    }

    /// A number that no guest has; with `vmid`, that number if it is free.
    ///
    /// # Errors
    /// [`crate::Kind::Exists`] when the number asked for is taken.
    pub async fn next_id(&self, vmid: Option<Vmid>) -> Result<Vmid, Error> {
        let query = Form::new().maybe("vmid", vmid);
        self.get("/cluster/nextid", &query).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_every_age_are_read() {
        for (json, name, template) in [
            (
                r#"{"type":"qemu","vmid":100,"node":"pve1","name":"web","template":1}"#,
                Some("web"),
                true,
            ),
            (r#"{"type":"qemu","vmid":"100","node":"pve1","status":"unknown"}"#, None, false),
            (
                r#"{"type":"lxc","vmid":200,"template":"","name":7,"future":{"x":[]}}"#,
                Some("7"),
                false,
            ),
            (r#"{"type":"network","id":"network/x"}"#, None, false),
        ] {
            let row: Resource = serde_json::from_str(json).unwrap();
            assert_eq!((row.name.as_deref(), row.template), (name, template), "{json}");
        }
    }
}
