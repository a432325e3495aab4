//! A machine that is yet to be made: its whole configuration in one call, then disks grown to
//! their sizes.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::property::{Disk, Options, Startup};
use pve_types::{DISK_BUSES, Setting, slot};

use super::cloudinit;
use super::disk::{DiskWant, Source};
use super::net;
use crate::change::{Change, Creation, From};
use crate::found::label;
use crate::params::Params;
use crate::wanted::{Want, Wanted};

/// The steps that make a machine.
///
/// # Errors
/// When it is not said where, or what a disk is made of.
pub(crate) fn plan(params: &Params, wanted: &Wanted) -> Result<Vec<Change>, Failure> {
    let label = label(params.name.as_deref(), params.vmid());
    let Some(node) = params.node().cloned() else {
        return Err(Failure::new(format!(
            "{label} does not exist, and node is not given: say where to make it"
        )));
    };
    let mut wanted = wanted.clone();
    image(params, &mut wanted)?;
    if let Some((slot, want)) = cloudinit::missing_drive(params, &wanted, None) {
        wanted.insert(slot, want);
    }
    let mut config = BTreeMap::new();
    let mut grown = Vec::new();
    for (key, want) in &wanted {
        match want {
            Want::Remove => {}
            Want::Text(text) => {
                config.insert(key.clone(), text.clone());
            }
            Want::Options(options) if is_drive(key) => {
                let outcome = DiskWant::new(key, options)?.create(key)?;
                config.extend(outcome.line.map(|line| (key.clone(), line)));
                if let Some((from, to)) = outcome.grow {
                    grown.push(Change::Grow { label: label.clone(), disk: key.clone(), from, to });
                }
            }
            Want::Options(options) => {
                config.insert(key.clone(), line(key, options));
            }
        }
    }
    // PVE's own default is to upgrade everything at the first start, which holds the package lock
    // when the first play comes. A machine that is installed by hand has no use for the key.
    let drive = |line: &String| Disk::new(line).is_cloudinit();
    let uses_cloudinit = params.image.is_some()
        || params.cipassword.is_some()
        || config.iter().any(|(key, line)| cloudinit::is_cloudinit(key) || drive(line));
    let unasked = uses_cloudinit && !config.contains_key("ciupgrade");
    if unasked {
        config.insert("ciupgrade".into(), "0".into());
    }
    if let Some(password) = &params.cipassword {
        config.insert("cipassword".into(), password.expose().to_owned());
    }
    if let Some(name) = &params.name {
        config.insert("name".into(), name.clone());
    }
    let creation = Creation {
        label,
        node,
        vmid: params.vmid(),
        pool: params.pool.clone(),
        from: From::Config { unasked },
        config,
    };
    let mut plan = vec![Change::Create(creation)];
    plan.extend(grown);
    Ok(plan)
}

/// Makes the image the source of the first disk.
///
/// # Errors
/// When there is no disk, or it says another source.
pub(crate) fn image(params: &Params, wanted: &mut Wanted) -> Result<(), Failure> {
    let Some(image) = &params.image else { return Ok(()) };
    let first = cloudinit::disks(wanted).find_map(|(key, disk)| match disk.source {
        Source::Disk { import, .. } => Some((key.to_owned(), import)),
        _ => None,
    });
    let Some((key, import)) = first else {
        return Err(Failure::new(
            "image: there is no disk to make from it: give one, for example \
             scsi: {scsi0: {storage: local, size: 8G}}",
        ));
    };
    if let Some(import) = import.filter(|import| import != image) {
        return Err(Failure::new(format!(
            "image is '{image}' and {key} says import_from '{import}': give one of them"
        )));
    }
    if let Some(Want::Options(options)) = wanted.get_mut(&key) {
        options.insert("import-from".into(), Some(image.clone()));
    }
    Ok(())
}

/// Whether a key is a drive that can be asked for.
#[must_use]
pub(crate) fn is_drive(key: &str) -> bool {
    slot(key).is_some_and(|(family, _)| DISK_BUSES.contains(&family))
}

/// The line of a property string that stands by itself.
#[must_use]
pub(crate) fn line(key: &str, wanted: &BTreeMap<String, Option<String>>) -> String {
    if slot(key).is_some_and(|(family, _)| family == "net") {
        return net::create(wanted);
    }
    let options: Options =
        wanted.iter().filter_map(|(key, value)| Some((key.clone(), value.clone()?))).collect();
    match (key, Setting::of(key)) {
        ("startup", Setting::Line(grammar)) => Startup::new(&grammar.line(&options)).spelled_out(),
        (_, Setting::Line(grammar)) => grammar.line(&options),
        _ => options.into_values().collect::<Vec<_>>().join(","),
    }
}
