//! Which guest a spec means: the one with its vmid, else the only one with its name.

use std::collections::BTreeMap;

use pve_types::GuestKind;

use crate::error::Error;
use crate::guest::{Guest, Key};
use crate::spec::Spec;

/// The specs of the guests that exist. A spec that is not here has no guest yet.
pub(crate) type Binding<'a> = BTreeMap<Key, &'a Spec>;

/// Binds every spec whose guest exists. `clusters` are the clusters' names.
pub(crate) fn bind<'a>(
    specs: &'a [Spec],
    guests: &[Guest],
    clusters: &[Option<String>],
) -> Result<Binding<'a>, Error> {
    let mut binding = Binding::new();
    for spec in specs {
        let cluster = in_cluster(spec, clusters)?;
        let there: Vec<&Guest> = guests
            .iter()
            .filter(|guest| cluster.is_none_or(|index| guest.cluster == index))
            .collect();
        let named = |guest: &&&Guest| guest.name.as_deref() == Some(&spec.name);
        let several = |same: &[&Guest]| {
            let ids: Vec<String> = same
                .iter()
                .map(|guest| match clusters.get(guest.cluster).cloned().flatten() {
                    Some(cluster) => format!("{} of {cluster}", guest.vmid),
                    None => guest.vmid.to_string(),
                })
                .collect();
            Error::Ambiguous {
                path: spec.path.clone(),
                name: spec.name.clone(),
                ids: ids.join(", "),
                hint: if clusters.len() > 1 { "its cluster, and its vmid" } else { "its vmid" },
            }
        };
        let same: Vec<&Guest> = match spec.vmid {
            Some(vmid) => there.into_iter().filter(|guest| guest.vmid == vmid).collect(),
            None => there.into_iter().filter(|guest| named(&guest)).collect(),
        };
        let guest = match same[..] {
            [] => continue,
            [guest] => guest,
            // of several with its number the one with its name as well, if there is just one
            _ => match same.iter().filter(named).collect::<Vec<_>>()[..] {
                [guest] => guest,
                _ => return Err(several(&same)),
            },
        };
        if guest.kind == GuestKind::Lxc {
            return Err(Error::Kind {
                path: spec.path.clone(),
                vmid: guest.vmid,
                name: guest.name.as_ref().map(|name| format!(" ({name})")).unwrap_or_default(),
            });
        }
        // a guest on a node that is down has no name to compare
        if guest.name.as_ref().is_some_and(|name| *name != spec.name) {
            return Err(Error::Mismatch {
                path: spec.path.clone(),
                vmid: guest.vmid,
                found: guest.name.clone().unwrap_or_default(),
                expected: spec.name.clone(),
            });
        }
        binding.insert(guest.key(), spec);
    }
    Ok(binding)
}

/// The cluster that a spec names, by its place.
pub(crate) fn in_cluster(spec: &Spec, clusters: &[Option<String>]) -> Result<Option<usize>, Error> {
    let Some(name) = spec.cluster() else { return Ok(None) };
    let place = clusters.iter().position(|known| known.as_deref() == Some(name));
    place.map(Some).ok_or_else(|| {
        let known: Vec<&str> = clusters.iter().flatten().map(String::as_str).collect();
        Error::NoCluster {
            path: spec.path.clone(),
            name: name.to_owned(),
            known: if known.is_empty() { "no names".to_owned() } else { known.join(", ") },
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::guest::fixtures::guest;
    use pve_types::Vmid;

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
            let binding = bind(&specs, &guests, &[None]).unwrap();
            let vmids: Vec<u32> = binding.keys().map(|(_, vmid)| *vmid).collect();
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
            let error = bind(&[spec(name, vmid)], &guests, &[None]).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn a_container_is_no_vm() {
        let mut guests = [guest(109, "guest109"), guest(110, ""), guest(111, "vm")];
        for guest in &mut guests[..2] {
            guest.kind = GuestKind::Lxc;
        }
        for (name, vmid, text) in [
            (
                "guest109",
                None,
                "guests/guest109.yml says vm, guest 109 (guest109) is a container: ",
            ),
            (
                "guest109",
                Some(109),
                "guests/guest109.yml says vm, guest 109 (guest109) is a container: ",
            ),
            ("web", Some(109), "guests/web.yml says vm, guest 109 (guest109) is a container: "),
            ("web", Some(110), "guests/web.yml says vm, guest 110 is a container: "),
        ] {
            let error = bind(&[spec(name, vmid)], &guests, &[None]).unwrap_err().to_string();
            assert!(error.starts_with(text), "{error}");
        }
    }

    #[test]
    fn with_several_clusters_a_spec_may_say_which() {
        let mut guests = [guest(100, "web"), guest(100, "web"), guest(101, "db")];
        guests[1].cluster = 1;
        let clusters = ["east", "west"].map(|name| Some(name.to_owned()));
        let of = |name: &str, vmid, cluster: &str| {
            let mut spec = spec(name, vmid);
            if !cluster.is_empty() {
                spec.content.insert("cluster".to_owned(), cluster.into());
            }
            let specs = [spec];
            let bound = bind(&specs, &guests, &clusters);
            bound.map(|binding| binding.into_keys().collect::<Vec<_>>()).map_err(|e| e.to_string())
        };
        assert_eq!(of("web", Some(100), "west"), Ok(vec![(1, 100)]));
        assert_eq!(of("web", None, "east"), Ok(vec![(0, 100)]));
        assert_eq!(of("db", None, ""), Ok(vec![(0, 101)]));
        assert_eq!(of("db", None, "west"), Ok(vec![]));
        let error = of("web", None, "").unwrap_err();
        assert!(error.contains("100 of east, 100 of west"), "{error}");
        assert!(error.ends_with("give its cluster, and its vmid"), "{error}");
        let error = of("web", None, "north").unwrap_err();
        assert!(
            error.contains("cluster 'north' is not in the configuration, which has east, west")
        );
    }
}
