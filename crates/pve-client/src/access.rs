//! `/access`: what the caller may do.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::client::Client;
use crate::error::Error;
use crate::form::Form;

/// Privileges by path, as granted to the caller.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Permissions(BTreeMap<String, BTreeMap<String, Value>>);

impl Permissions {
    /// Whether a privilege is granted at exactly this path.
    #[must_use]
    pub fn has(&self, path: &str, privilege: &str) -> bool {
        self.0.get(path).is_some_and(|granted| granted.contains_key(privilege))
    }

    /// Where a privilege is granted, each path with whether what is below it has it too.
    pub fn paths<'a>(&'a self, privilege: &'a str) -> impl Iterator<Item = (&'a str, bool)> {
        self.0.iter().filter_map(move |(path, granted)| {
            // perl's truth: a number, or the same as a text
            let below =
                !matches!(granted.get(privilege)?.to_string().as_str(), "0" | "\"0\"" | "false");
            Some((path.as_str(), below))
        })
    }

    /// Whether nothing is granted anywhere.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.values().all(BTreeMap::is_empty)
    }
}

impl Client {
    /// What the caller may do, at one path or at all that were granted.
    ///
    /// # Errors
    /// As every call.
    pub async fn permissions(&self, path: Option<&str>) -> Result<Permissions, Error> {
        let query = Form::new().maybe("path", path);
        let value: Value = self.get("/access/permissions", &query).await?;
        // an empty answer is a list, since perl's empty hash may come as one
        Ok(Permissions(serde_json::from_value(value).unwrap_or_default()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_privilege_is_found_where_it_is_granted() {
        let granted = json!({"/": {"VM.Audit": 0, "Sys.Audit": 1}, "/pool/a": {"VM.Audit": "0"},
                             "/vms": {"VM.Audit": 1}, "/vms/100": {"VM.Config.CPU": 1}});
        let permissions = Permissions(serde_json::from_value(granted).unwrap());
        let paths: Vec<_> = permissions.paths("VM.Audit").collect();
        assert_eq!(paths, [("/", false), ("/pool/a", false), ("/vms", true)]);
        assert_eq!(permissions.paths("VM.Clone").count(), 0);
    }
}
