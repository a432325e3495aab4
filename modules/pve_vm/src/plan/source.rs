//! A machine that is made from another one or from a backup, and then given what the task says
//! beyond that.
//!
//! What has to be set is foretold from the source's configuration. When it comes to it, the new
//! machine is compared itself: its addresses, volumes and identity are its own.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::property::{Disk, NetDevice};
use pve_types::{NodeName, Setting, Vmid, slot};

use super::update::{self, Making};
use crate::change::{Change, Creation, Edit, From};
use crate::found::{Guest, Source, is_drive, label};
use crate::params::Params;
use crate::wanted::Wanted;

/// What a source has and a machine made from it has not.
const OWN: [&str; 8] =
    ["digest", "lock", "parent", "snaptime", "template", "vmgenid", "vmstate", "runningmachine"];

/// The steps that make a machine from its source.
///
/// # Errors
/// When it cannot be made from that, or not as is said.
pub(crate) fn plan(
    params: &Params,
    wanted: &Wanted,
    source: &Source,
) -> Result<Vec<Change>, Failure> {
    let label = label(params.name.as_deref(), params.vmid());
    let unknown = matches!(source, Source::Archive(None));
    let (node, from, config) = match source {
        Source::Clone(of) => {
            let from = clone_of(params, of)?;
            (params.node().cloned().unwrap_or_else(|| of.node.clone()), from, copied(params, of))
        }
        Source::Archive(config) => {
            restored(params, config.as_ref().unwrap_or(&BTreeMap::new()), &label)?
        }
    };
    // the number is not known yet if PVE chooses it; no setting depends on it
    let vmid = params.vmid().or_else(|| match source {
        Source::Clone(of) => Some(of.vmid),
        Source::Archive(_) => Vmid::new(Vmid::MIN).ok(),
    });
    let mut plan = vec![Change::Create(Creation {
        label: label.clone(),
        node: node.clone(),
        vmid: params.vmid(),
        pool: params.pool.clone(),
        from,
        config: config.clone(),
    })];
    if unknown {
        plan.push(Change::Set(Edit::after_making(&label)));
    } else if let Some(vmid) = vmid {
        let guest = foreseen(vmid, node, config);
        let edits = update::plan(params, wanted, &guest, Making::Foretold(&label))?;
        plan.extend(edits.into_iter().map(|change| match change {
            Change::Set(mut edit) => {
                edit.after_making = true;
                Change::Set(edit)
            }
            other => other,
        }));
    }
    Ok(plan)
}

fn clone_of(params: &Params, of: &Guest) -> Result<From, Failure> {
    if !params.full && !of.is("template") {
        return Err(Failure::new(format!(
            "clone: {} is no template, and a linked copy can be made of a template only: set full \
             to true, or make it a template first",
            of.label()
        )));
    }
    Ok(From::Clone {
        label: of.label(),
        node: of.node.clone(),
        vmid: of.vmid,
        full: params.full,
        storage: params.storage.clone(),
        format: params.format.map(crate::params::Format::word),
        snapname: params.snapname.clone(),
    })
}

/// The configuration of a copy, as far as it can be foretold.
fn copied(params: &Params, of: &Guest) -> BTreeMap<String, String> {
    let mut config = kept(&of.config, true);
    if let Some(storage) = params.storage.as_ref().filter(|_| params.full) {
        move_to(&mut config, storage.as_str());
    }
    let name = match (&params.name, of.name()) {
        (Some(name), _) => name.clone(),
        (None, "") => format!("Copy-of-VM-{}", of.vmid),
        (None, name) => format!("Copy-of-VM-{name}"),
    };
    config.insert("name".into(), name);
    config
}

fn restored(
    params: &Params,
    saved: &BTreeMap<String, String>,
    label: &str,
) -> Result<(NodeName, From, BTreeMap<String, String>), Failure> {
    let (Some(archive), Some(node)) = (&params.archive, params.node()) else {
        return Err(Failure::new(format!(
            "{label} does not exist, and node is not given: say where to restore it"
        )));
    };
    let mut config = kept(saved, params.unique);
    if let Some(storage) = &params.storage {
        move_to(&mut config, storage.as_str());
    }
    let from = From::Archive {
        archive: archive.clone(),
        storage: params.storage.clone(),
        unique: params.unique,
    };
    Ok((node.clone(), from, config))
}

fn kept(config: &BTreeMap<String, String>, anew: bool) -> BTreeMap<String, String> {
    config
        .iter()
        .filter(|(key, _)| !OWN.contains(&key.as_str()) && !key.starts_with("unused"))
        .map(|(key, line)| {
            let line = if anew { without_identity(key, line) } else { line.clone() };
            (key.clone(), line)
        })
        .filter(|(_, line)| !line.is_empty())
        .collect()
}

/// The line without what PVE makes anew.
fn without_identity(key: &str, line: &str) -> String {
    let (grammar, own) = match (key, slot(key)) {
        (_, Some(("net", _))) => (NetDevice::GRAMMAR, "macaddr"),
        ("smbios1", Some(_)) => match Setting::of(key) {
            Setting::Line(grammar) => (grammar, "uuid"),
            _ => return line.to_owned(),
        },
        _ => return line.to_owned(),
    };
    let mut options = grammar.options(line);
    options.remove(own);
    grammar.line(&options)
}

fn move_to(config: &mut BTreeMap<String, String>, storage: &str) {
    for (_, line) in config.iter_mut().filter(|(key, _)| is_drive(key)) {
        let disk = Disk::new(line);
        let keeps = disk.is_cdrom() && !disk.is_cloudinit();
        let Some(volid) = disk.volume().filter(|_| !keeps) else { continue };
        let mut options = disk.options().clone();
        options.insert("file".into(), format!("{storage}:{}", volid.volume));
        *line = Disk::GRAMMAR.line(&options);
    }
}

fn foreseen(vmid: Vmid, node: NodeName, config: BTreeMap<String, String>) -> Guest {
    Guest { running_config: config.clone(), config, ..Guest::unread(node, vmid) }
}
