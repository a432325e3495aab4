//! Which guest a spec means: the one with its vmid, else the only one with its name.

use std::collections::BTreeMap;

use pve_types::Vmid;

use crate::error::Error;
use crate::guest::Guest;
use crate::spec::Spec;

/// The specs of the guests that exist, by vmid. A spec that is not here has no guest yet.
pub(crate) type Binding<'a> = BTreeMap<Vmid, &'a Spec>;

/// Binds every spec whose guest exists.
pub(crate) fn bind<'a>(specs: &'a [Spec], guests: &[Guest]) -> Result<Binding<'a>, Error> {
    let mut binding = Binding::new();
    for spec in specs {
        let named = |guest: &&Guest| guest.name.as_deref() == Some(&spec.name);
        let vmid = match spec.vmid {
            Some(vmid) => match guests.iter().find(|guest| guest.vmid == vmid) {
                // a guest on a node that is down has no name to compare
                Some(guest) if guest.name.is_none() || named(&guest) => vmid,
                Some(guest) => {
                    return Err(Error::Mismatch {
                        path: spec.path.clone(),
                        vmid,
                        found: guest.name.clone().unwrap_or_default(),
                        expected: spec.name.clone(),
                    });
                }
                None => continue,
            },
            None => {
                let same: Vec<Vmid> = guests.iter().filter(named).map(|guest| guest.vmid).collect();
                match same[..] {
                    [] => continue,
                    [vmid] => vmid,
                    _ => {
                        let ids: Vec<String> = same.iter().map(ToString::to_string).collect();
                        return Err(Error::Ambiguous {
                            path: spec.path.clone(),
                            name: spec.name.clone(),
                            ids: ids.join(", "),
                        });
                    }
                }
            }
        };
        binding.insert(vmid, spec);
    }
    Ok(binding)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::fixtures::guest;

    fn spec(name: &str, vmid: Option<u32>) -> Spec {
        Spec {
            path: format!("guests/{name}.yml").into(),
            name: name.to_owned(),
            vmid: vmid.map(|vmid| Vmid::new(vmid).unwrap()),
            destroy: false,
            content: serde_json::Map::new(),
        }
    }

    #[test]
    fn a_spec_means_its_vmid_else_its_name() {
        let guests = [guest(100, "web"), guest(101, "db"), guest(102, "db"), guest(103, "")];
        for (name, vmid, bound) in [
            ("web", Some(100), &[100][..]),
            ("web", None, &[100]),
            ("db", Some(102), &[102]),
            ("new", None, &[]),
            ("new", Some(200), &[]),
            ("lost", Some(103), &[103]),
        ] {
            let specs = [spec(name, vmid)];
            let binding = bind(&specs, &guests).unwrap();
            let vmids: Vec<u32> = binding.keys().map(|vmid| vmid.get()).collect();
            assert_eq!(vmids, bound, "{name} {vmid:?}");
        }
    }

    #[test]
    fn what_does_not_fit_names_both() {
        let guests = [guest(100, "web"), guest(101, "db"), guest(102, "db")];
        for (name, vmid, text) in [
            (
                "db",
                Some(100),
                "guests/db.yml says vmid 100, and guest 100 is called 'web', not 'db'",
            ),
            (
                "db",
                None,
                "guests/db.yml could mean any of the guests 101, 102, which are all called 'db': \
                 give its vmid",
            ),
        ] {
            let error = bind(&[spec(name, vmid)], &guests).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
