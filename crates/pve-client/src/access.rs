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
