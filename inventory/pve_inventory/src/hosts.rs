//! What each host is called.

use std::collections::BTreeMap;

use crate::groups;
use crate::guest::Guest;
use crate::names::{self, Wanted};
use crate::spec::{Binding, Spec};

/// The name of each guest's host, by vmid. A guest with a spec has the spec's name; every other
/// has its own if nothing else has it.
pub(crate) fn of(guests: &[Guest], specs: &[Spec], binding: &Binding<'_>) -> BTreeMap<u32, String> {
    let mut taken = groups::names_of(guests, specs.iter().flat_map(Spec::groups));
    taken.extend(specs.iter().map(|spec| spec.name.clone()));
    let wanted: Vec<Wanted> = guests
        .iter()
        .map(|guest| Wanted {
            vmid: guest.vmid.get(),
            kind: guest.kind.as_str(),
            name: guest.name.clone(),
            fixed: binding.get(&guest.vmid).map(|spec| spec.name.clone()),
        })
        .collect();
    names::hosts(&wanted, &taken)
}
