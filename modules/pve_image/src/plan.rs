//! What would have to change. Pure: the table below is the module's behaviour.

use ansible_module::Failure;

use crate::change::Change;
use crate::found::{Copy, Found, Proof, There};
use crate::params::{Params, State};

/// What would have to change.
///
/// # Errors
/// When a file of the name is there with other content, and may not be replaced.
pub(crate) fn plan(params: &Params, found: &Found) -> Result<Vec<Change>, Failure> {
    let Some(volid) = &found.volid else { return Ok(Vec::new()) };
    let mut changes = Vec::new();
    let mut others = Vec::new();
    for copy in &found.copies {
        let (node, volid, by_node) = (copy.node.clone(), volid.clone(), found.by_node);
        for left in &copy.leftovers {
            changes.push(Change::Tidy { node: node.clone(), volid: left.clone() });
        }
        match (params.state, &copy.there) {
            (State::Absent, None) => {}
            (State::Absent, Some(_)) => changes.push(Change::Remove { node, volid }),
            (State::Present, None) => changes.push(Change::Fetch { node, volid, by_node }),
            (State::Present, Some(there)) => match other(found, copy, *there) {
                None => {}
                Some(_) if params.replace => {
                    changes.push(Change::Replace { node, volid, by_node });
                }
                Some(text) => others.push(format!("on {node} {text}")),
            },
        }
    }
    if others.is_empty() {
        return Ok(changes);
    }
    Err(Failure::new(format!(
        "{} is there with other content: {}: ask for another name, or set replace",
        found.label(),
        others.join("; ")
    )))
}

/// How a file that is there differs from what is wanted.
fn other(found: &Found, copy: &Copy, there: There) -> Option<String> {
    match &copy.proof {
        Some(Proof::Same) => return None,
        Some(Proof::Other(text)) => return Some(text.clone()),
        None => {}
    }
    let (expected, size) = (found.expected?, there.size?);
    (expected != size).then(|| {
        let wanted = found.checksum.as_ref().map(|sum| format!(" ({sum})")).unwrap_or_default();
        format!("it has {size} bytes, and what is wanted has {expected} bytes{wanted}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn params(options: &Value) -> Params {
        let mut all = json!({"api_host": "pve1", "storage": "local", "src": "/x.raw"});
        for (key, value) in options.as_object().unwrap() {
            all[key] = value.clone();
        }
        serde_json::from_value(all).unwrap()
    }

    fn copy(node: &str, size: Option<u64>) -> Copy {
        Copy {
            node: node.parse().unwrap(),
            there: size.map(|size| There { size: Some(size).filter(|size| *size > 0) }),
            leftovers: Vec::new(),
            proof: None,
        }
    }

    fn found(expected: Option<u64>, copies: Vec<Copy>) -> Found {
        Found {
            name: "x.raw".into(),
            volid: Some("local:import/x.raw".parse().unwrap()),
            expected,
            copies,
            ..Found::default()
        }
    }

    #[test]
    fn each_state_has_its_plan() {
        let left = |mut copy: Copy| {
            copy.leftovers.push("local:import/ferrite-tmp-1-x.raw".parse().unwrap());
            copy
        };
        let proven = |mut copy: Copy, proof| {
            copy.proof = Some(proof);
            copy
        };
        let tidy = "remove local:import/ferrite-tmp-1-x.raw, left by an interrupted run, from pve1";
        let upload = "upload local:import/x.raw to pve1";
        let replace = "replace local:import/x.raw on pve1 by upload";
        let (plain, replacing) = (json!({}), json!({"replace": true}));
        for (name, options, expected, copies, wanted) in [
            ("missing", &plain, Some(9), vec![copy("pve1", None)], Ok(vec![upload])),
            ("there", &plain, Some(9), vec![copy("pve1", Some(9))], Ok(vec![])),
            ("of unknown size", &plain, None, vec![copy("pve1", Some(9))], Ok(vec![])),
            (
                "of a size that is not said",
                &plain,
                Some(9),
                vec![copy("pve1", Some(0))],
                Ok(vec![]),
            ),
            (
                "on one of two",
                &plain,
                Some(9),
                vec![copy("pve2", Some(9)), copy("pve1", None)],
                Ok(vec![upload]),
            ),
            (
                "b45 of another size",
                &plain,
                Some(120),
                vec![copy("pve1", Some(100))],
                Err("on pve1 it has 100 bytes, and what is wanted has 120 bytes"),
            ),
            ("b45 replaced", &replacing, Some(9), vec![copy("pve1", Some(8))], Ok(vec![replace])),
            ("nothing to replace", &replacing, Some(9), vec![copy("pve1", Some(9))], Ok(vec![])),
            ("left over", &plain, Some(9), vec![left(copy("pve1", Some(9)))], Ok(vec![tidy])),
            (
                "left over and missing",
                &plain,
                Some(9),
                vec![left(copy("pve1", None))],
                Ok(vec![tidy, upload]),
            ),
            ("proven", &plain, None, vec![proven(copy("pve1", Some(9)), Proof::Same)], Ok(vec![])),
            (
                "disproven",
                &plain,
                Some(9),
                vec![proven(copy("pve1", Some(9)), Proof::Other("it is a vmdk".into()))],
                Err("is there with other content: on pve1 it is a vmdk: ask for another name"),
            ),
        ] {
            let plan = plan(&params(options), &found(expected, copies));
            match (plan, wanted) {
                (Ok(plan), Ok(wanted)) => {
                    let plan: Vec<String> = plan.iter().map(ToString::to_string).collect();
                    assert_eq!(plan, wanted, "{name}");
                }
                (Err(failure), Err(text)) => {
                    assert!(failure.message().contains(text), "{name}: {}", failure.message());
                }
                (plan, _) => panic!("{name}: {plan:?}"),
            }
        }
        let gone = json!({"state": "absent", "src": null, "name": "x.raw"});
        for (copies, wanted) in [
            (vec![copy("pve1", Some(9))], vec!["remove local:import/x.raw from pve1"]),
            (vec![copy("pve1", None)], vec![]),
        ] {
            let plan = plan(&params(&gone), &found(None, copies)).unwrap();
            let plan: Vec<String> = plan.iter().map(ToString::to_string).collect();
            assert_eq!(plan, wanted);
        }
    }
}
