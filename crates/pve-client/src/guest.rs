//! What VMs and containers answer alike: configuration, pending changes, status, snapshots.

use std::collections::BTreeMap;
use std::collections::btree_map::Iter;

use pve_types::{ConfigDigest, lenient};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// Which configuration is meant: what a running guest will have after its next start, or what it
/// runs with now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum View {
    /// With the pending changes merged in.
    Pending,
    /// As in force now.
    Current,
}

/// A guest's configuration: every value as the text PVE would write into the file. PVE gives some
/// of them as numbers; as texts they are compared alike.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct GuestConfig(BTreeMap<String, String>);

impl GuestConfig {
    /// The value of an option that is set.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }

    /// Options and values in the order of their names, the digest included.
    pub fn iter(&self) -> Iter<'_, String, String> {
        self.0.iter()
    }

    /// The options as a map.
    #[must_use]
    pub fn as_map(&self) -> &BTreeMap<String, String> {
        &self.0
    }

    /// The hash to send back with a change.
    #[must_use]
    pub fn digest(&self) -> Option<ConfigDigest> {
        self.get("digest").and_then(|digest| digest.parse().ok())
    }

    /// The guest's name: a VM calls it `name`, a container `hostname`.
    #[must_use]
    pub fn name(&self) -> Option<&str> {
        self.get("name").or_else(|| self.get("hostname"))
    }

    /// Whether it is a template.
    #[must_use]
    pub fn is_template(&self) -> bool {
        self.get("template").is_some_and(lenient::is_true)
    }
}

impl<K: Into<String>, V: Into<String>> FromIterator<(K, V)> for GuestConfig {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self(pairs.into_iter().map(|(key, value)| (key.into(), value.into())).collect())
    }
}

impl<'de> Deserialize<'de> for GuestConfig {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let values = BTreeMap::<String, Value>::deserialize(deserializer)?;
        // a container's raw `lxc` keys are a list of pairs; they are nothing that we set
        Ok(values.into_iter().filter_map(|(key, value)| Some((key, text(&value)?))).collect())
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(value) => Some(if *value { "1" } else { "0" }.to_owned()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// One option of a guest with what waits for its next start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct PendingItem {
    /// The option.
    pub key: String,
    /// Its value in force.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub value: Option<String>,
    /// The value that waits.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub pending: Option<String>,
    /// Whether its removal waits: 1, or 2 when forced.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub delete: Option<u8>,
}

/// What a guest does now.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub struct GuestStatus {
    /// `running`, `stopped`, or a word of a later PVE.
    #[serde(default)]
    pub status: String,
    /// A VM's own word; a paused VM is `running` and `paused` here.
    #[serde(default)]
    pub qmpstatus: Option<String>,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// Seconds since it was started.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub uptime: Option<u64>,
    /// Its process on the node; changes with each start.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub pid: Option<u64>,
    /// What it is locked by.
    #[serde(default)]
    pub lock: Option<String>,
    /// Whether the agent is configured.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub agent: bool,
    /// Whether it is a template.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub template: bool,
    /// The high-availability state, as it comes.
    #[serde(default)]
    pub ha: Value,
}

impl GuestStatus {
    /// Whether it runs, a paused one included.
    #[must_use]
    pub fn is_running(&self) -> bool {
        self.status == "running"
    }

    /// What it does, in the most telling word: `paused` rather than `running`.
    #[must_use]
    pub fn word(&self) -> &str {
        match &self.qmpstatus {
            Some(word) if self.is_running() => word,
            _ => &self.status,
        }
    }

    /// Whether the high-availability manager looks after it.
    #[must_use]
    pub fn is_managed_by_ha(&self) -> bool {
        self.ha["managed"] == 1 || self.ha["managed"] == "1" || self.ha["managed"] == true
    }
}

/// One snapshot. The running state is listed as `current`.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Snapshot {
    /// Its name.
    pub name: String,
    /// What it is for.
    #[serde(default)]
    pub description: Option<String>,
    /// The snapshot it was made on.
    #[serde(default)]
    pub parent: Option<String>,
    /// When it was made, in seconds since 1970.
    #[serde(default, deserialize_with = "lenient::optional_number")]
    pub snaptime: Option<u64>,
    /// Whether it holds the memory.
    #[serde(default, deserialize_with = "lenient::flag")]
    pub vmstate: bool,
    /// What it is in the middle of: `prepare` or `delete`. Only one that is not whole has it.
    #[serde(default, deserialize_with = "lenient::optional_text")]
    pub snapstate: Option<String>,
}

impl Snapshot {
    /// Whether it is the running state, which is no snapshot.
    #[must_use]
    pub fn is_current(&self) -> bool {
        self.name == "current"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_is_text_whatever_pve_makes_of_it() {
        let config: GuestConfig = serde_json::from_str(
            r#"{"memory":"128","cores":2,"onboot":true,"cpulimit":1.5,"boot":" ","tags":" ",
                "lxc":[["a","b"]],"name":"web","nothing":null,
                "digest":"b9d5c7c6f1e0a2d3b4c5d6e7f8091a2b3c4d5e6f"}"#,
        )
        .unwrap();
        for (key, value) in [
            ("memory", Some("128")),
            ("cores", Some("2")),
            ("onboot", Some("1")),
            ("cpulimit", Some("1.5")),
            ("tags", Some(" ")),
            ("lxc", None),
            ("nothing", None),
        ] {
            assert_eq!(config.get(key), value, "{key}");
        }
        assert_eq!(config.name(), Some("web"));
        assert!(!config.is_template());
        assert!(config.digest().is_some());
    }

    #[test]
    fn status_and_pending_are_read_leniently() {
        let status: GuestStatus = serde_json::from_str(
            r#"{"status":"running","qmpstatus":"paused","uptime":"12","pid":77,"agent":"1",
                "ha":{"managed":1},"clipboard":null,"pressurecpusome":"0.00"}"#,
        )
        .unwrap();
        assert!(status.is_running() && status.agent && status.is_managed_by_ha());
        assert_eq!((status.uptime, status.pid), (Some(12), Some(77)));
        let items: Vec<PendingItem> = serde_json::from_str(
            r#"[{"key":"memory","value":"128","pending":256},{"key":"vga","value":"std","delete":"1"}]"#,
        )
        .unwrap();
        assert_eq!(items[0].pending.as_deref(), Some("256"));
        assert_eq!(items[1].delete, Some(1));
    }
}
