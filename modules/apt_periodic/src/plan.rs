//! What would have to change.

use std::fmt;

use ansible_module::Diff;

use crate::config;
use crate::error::Error;
use crate::observe::{self, Found};
use crate::params::{Params, State};

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Write the file.
    Write { path: String, text: String },
    /// Remove it.
    Remove { path: String },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Write { path, .. } => write!(f, "write {path}"),
            Self::Remove { path } => write!(f, "remove {path}"),
        }
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Error> {
    if !found.overridden.is_empty() {
        return Err(Error::Overridden { list: found.overridden.join("; ") });
    }
    let path = observe::path(params).display().to_string();
    let text = config::text(params);
    Ok(match params.state {
        State::Absent if found.text.is_some() => vec![Change::Remove { path }],
        State::Present if found.text.as_ref() != Some(&text) || found.open => {
            vec![Change::Write { path, text }]
        }
        _ => Vec::new(),
    })
}

pub(crate) fn diff(found: &Found, plan: &[Change]) -> Vec<Diff> {
    plan.iter()
        .map(|change| {
            let (path, after) = match change {
                Change::Write { path, text } => (path, text.clone()),
                Change::Remove { path } => (path, String::new()),
            };
            let before = found.text.clone().unwrap_or_default();
            Diff { before_header: path.clone(), after_header: path.clone(), before, after }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans() {
        let params = |state: &str| -> Params {
            serde_json::from_value(serde_json::json!({"settings": {"A": 1}, "state": state}))
                .unwrap()
        };
        let right = config::text(&params("present"));
        let file = "/etc/apt/apt.conf.d/99ferrite_periodic";
        for (state, text, open, wanted) in [
            ("present", None, false, vec![format!("write {file}")]),
            ("present", Some("other".to_owned()), false, vec![format!("write {file}")]),
            ("present", Some(right.clone()), false, vec![]),
            ("present", Some(right.clone()), true, vec![format!("write {file}")]),
            ("absent", None, false, vec![]),
            ("absent", Some(right), true, vec![format!("remove {file}")]),
        ] {
            let found = Found { text, open, ..Found::default() };
            let plan: Vec<String> =
                plan(&params(state), &found).unwrap().iter().map(ToString::to_string).collect();
            assert_eq!(plan, wanted, "{state}");
        }
    }
}
