//! One network interface: the MAC address of one that is there is carried over into every line
//! that is written, since PVE makes a new one where none is given.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::MacAddress;
use pve_types::property::{NetDevice, Options};

use crate::wanted::at;

/// The model of a new interface that says none.
const MODEL: &str = "virtio";

/// Checks what is asked of an interface.
///
/// # Errors
/// Names the slot, what was given and what would be right.
pub(crate) fn check(slot: &str, wanted: &BTreeMap<String, Option<String>>) -> Result<(), Failure> {
    let get = |key: &str| wanted.get(key).and_then(Option::as_deref);
    if let Some(text) = get("macaddr") {
        let mac: MacAddress = text.parse().map_err(|error| at(slot, &error))?;
        if mac.is_multicast() || mac.is_zero() {
            let text = format!("{slot}: {mac} is no address for an interface: it is for groups");
            return Err(Failure::new(text));
        }
    }
    Ok(())
}

/// The line of an interface that is yet to be made.
#[must_use]
pub(crate) fn create(wanted: &BTreeMap<String, Option<String>>) -> String {
    let mut options: Options =
        wanted.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect();
    options.entry("model".into()).or_insert_with(|| MODEL.into());
    NetDevice::GRAMMAR.line(&options)
}

/// The line to write for an interface that is there, if it differs. It always has a model and an
/// address: to wish for none is to wish for no other one.
#[must_use]
pub(crate) fn update(wanted: &BTreeMap<String, Option<String>>, current: &str) -> Option<String> {
    let mut wanted = wanted.clone();
    wanted.retain(|key, value| value.is_some() || !matches!(key.as_str(), "model" | "macaddr"));
    merge(NetDevice::GRAMMAR, &wanted, current)
}

/// The line with these sub-options changed and all others as they are, if that is a difference.
#[must_use]
pub(crate) fn merge(
    grammar: &pve_types::property::Grammar,
    wanted: &BTreeMap<String, Option<String>>,
    current: &str,
) -> Option<String> {
    let mut options = grammar.options(current);
    let mut changed = false;
    for (key, value) in wanted {
        match value {
            Some(value) if !grammar.holds(&options, key, value) => {
                options.insert(key.clone(), value.clone());
                changed = true;
            }
            None => changed |= options.remove(key).is_some(),
            Some(_) => {}
        }
    }
    changed.then(|| grammar.line(&options))
}
