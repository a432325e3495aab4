//! What would have to change. One run of apt-get does it all; its steps are told one by one.

use std::fmt;

use crate::error::Error;
use crate::observe::{self, Found};
use crate::package::Wanted;
use crate::params::Params;
use crate::simulation::Step;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Change {
    /// Finish an interrupted dpkg.
    Repair { reason: String },
    /// Run apt-get.
    Packages { what: String, packages: Vec<Wanted>, steps: Vec<Step> },
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Repair { reason } => write!(f, "finish the interrupted dpkg ({reason})"),
            Self::Packages { what, steps, .. } if steps.is_empty() => f.write_str(what),
            Self::Packages { what, steps, .. } => {
                let steps: Vec<String> = steps.iter().map(ToString::to_string).collect();
                write!(f, "{what} (apt-get: {})", steps.join(", "))
            }
        }
    }
}

pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Error> {
    let mut plan = Vec::new();
    // packages that nothing provides yet are found missing although apt has nothing to do: those
    // are virtual ones, and another package provides them
    let done = found.steps.is_empty() && found.interrupted.is_none();
    if let Some(reason) = found.unpinned.clone()
        && !(found.left.is_empty() || done)
    {
        return Err(Error::Unpinned { reason });
    }
    if let Some(reason) = found.interrupted.clone() {
        if !params.repair {
            return Err(Error::Interrupted { reason });
        }
        plan.push(Change::Repair { reason });
    }
    if !found.left.is_empty() && !done {
        plan.push(Change::Packages {
            what: observe::what(params, &found.left),
            packages: found.left.clone(),
            steps: found.steps.clone(),
        });
    }
    Ok(plan)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulation;

    fn params(more: serde_json::Value) -> Params {
        let mut all = serde_json::json!({"name": ["demo"]});
        all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        serde_json::from_value(all).unwrap()
    }

    fn missing() -> Found {
        Found {
            left: vec![Wanted::parse("demo").unwrap()],
            steps: simulation::parse("Inst libx (1 D [all])\nInst demo (2 D [all])\n"),
            ..Found::default()
        }
    }

    #[test]
    fn plans() {
        let install = "install demo (apt-get: install libx 1, install demo 2)";
        let none = serde_json::json!({});
        for (case, more, found, wanted) in [
            ("all there", none.clone(), Found::default(), Ok(vec![])),
            ("missing", none.clone(), missing(), Ok(vec![install])),
            (
                "a virtual package that is provided",
                none.clone(),
                Found { steps: vec![], ..missing() },
                Ok(vec![]),
            ),
            (
                "interrupted",
                none.clone(),
                Found { interrupted: Some("half installed: x".into()), ..Found::default() },
                Err("dpkg was interrupted (half installed: x); set repair to have it finished"),
            ),
            (
                "interrupted, to be repaired",
                serde_json::json!({"repair": true}),
                Found { interrupted: Some("x".into()), steps: vec![], ..missing() },
                Ok(vec!["finish the interrupted dpkg (x)", "install demo"]),
            ),
            (
                "not pinned",
                serde_json::json!({"require_pin": true}),
                Found { unpinned: Some("there is no pin on this node".into()), ..missing() },
                Err("require_pin: the sources are not pinned (there is no pin on this node); run \
                     ferrite.pve.apt_snapshot_pin first"),
            ),
            (
                "not pinned, but nothing to install",
                serde_json::json!({"require_pin": true}),
                Found { unpinned: Some("x".into()), ..Found::default() },
                Ok(vec![]),
            ),
        ] {
            let plan = plan(&params(more), &found)
                .map(|plan| plan.iter().map(ToString::to_string).collect::<Vec<_>>())
                .map_err(|error| error.to_string());
            let wanted = wanted
                .map(|lines| lines.into_iter().map(ToOwned::to_owned).collect::<Vec<_>>())
                .map_err(ToOwned::to_owned);
            assert_eq!(plan, wanted, "{case}");
        }
    }
}
