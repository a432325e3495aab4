//! What is shown: the difference in PVE's words, and what is returned.

use std::collections::BTreeMap;

use ansible_module::Diff;
use pve_types::address::{Reason, Source};
use pve_types::property::Disk;
use pve_types::{ConfigDigest, NodeName, Parsed, Vmid, parsed};
use schemars::JsonSchema;
use serde::Serialize;

use crate::change::{Action, Change, Edit, From, readable};
use crate::found::{Found, Guest, is_drive, label};
use crate::params::Params;
use crate::plan::cloudinit::is_cloudinit;
use crate::plan::update::plugs;
use crate::target::Session;

/// Keys that say nothing to a reader of a difference.
const BOOKKEEPING: [&str; 3] = ["digest", "meta", "vmgenid"];

/// The configuration before and after, secrets masked.
pub(crate) fn diff(params: &Params, found: &Found, plan: &[Change]) -> Vec<Diff> {
    if plan.is_empty() {
        return Vec::new();
    }
    let before: BTreeMap<String, String> =
        found.guest.as_ref().map(|guest| guest.config.clone()).unwrap_or_default();
    let status = found.guest.as_ref().map(|guest| guest.status.clone());
    let mut node = None;
    let (mut after, mut next) = (Some(before.clone()), status.clone());
    for change in plan {
        match change {
            Change::Create(creation) => {
                let mut config = creation.config.clone();
                if !matches!(creation.from, From::Config { .. }) {
                    config
                        .iter_mut()
                        .filter(|(key, _)| is_drive(key))
                        .for_each(|(_, l)| renamed(l));
                }
                after = Some(config);
                next = Some("stopped".into());
            }
            Change::Set(edit) => {
                if let Some(after) = &mut after {
                    after.retain(|key, _| !edit.delete.contains(key));
                    detached(found.guest.as_ref(), edit, after);
                    after.extend(edit.set.clone());
                    for key in edit.revert.keys() {
                        after.remove(key);
                        let now = found.guest.as_ref().and_then(|g| g.running_config.get(key));
                        after.extend(now.map(|value| (key.clone(), value.clone())));
                    }
                }
            }
            Change::Grow { disk, to, .. } => {
                if let Some(line) = after.as_mut().and_then(|after| after.get_mut(disk)) {
                    let grammar = Disk::GRAMMAR;
                    let mut options = grammar.options(line);
                    options.insert("size".into(), to.to_string());
                    *line = grammar.line(&options);
                }
            }
            Change::Power { action, .. } => {
                let status = match action {
                    Action::Shutdown(_) | Action::Hibernate => "stopped",
                    Action::Pause => "paused",
                    Action::Restart { .. } => "running (restarted)",
                    Action::RestartIfPending(_) => "running (restarted if need be)",
                    _ => "running",
                };
                next = Some(status.into());
            }
            Change::Move { disk, to, .. } => {
                if let Some(line) = after.as_mut().and_then(|after| after.get_mut(disk)) {
                    let drive = Disk::new(line);
                    let mut options = drive.options().clone();
                    options.insert("file".into(), format!("{to}:..."));
                    *line = Disk::GRAMMAR.line(&options);
                }
            }
            Change::Migrate(migration) => node = Some(migration.to.clone()),
            Change::Template { .. } => {
                if let Some(after) = &mut after {
                    after.insert("template".into(), "1".into());
                }
            }
            Change::Destroy { .. } => (after, next) = (None, None),
            Change::Regenerate { .. } => {}
        }
    }
    let header = |node: Option<NodeName>| {
        found.guest.as_ref().map_or_else(
            || label(params.name.as_deref(), params.vmid()),
            |guest| format!("{} on {}", guest.label(), node.unwrap_or_else(|| guest.node.clone())),
        )
    };
    let mut old = text(found.guest.as_ref().map(|_| &before), status.as_deref());
    let mut new = text(after.as_ref(), next.as_deref());
    if let (Some(guest), Some(node)) = (&found.guest, &node) {
        old.insert_str(0, &format!("node: {}\n", guest.node));
        new.insert_str(0, &format!("node: {node}\n"));
    }
    if old == new {
        // a password that is written again, a drive that is written anew
        new.extend(plan.iter().map(|change| format!("# {change}\n")));
    }
    vec![Diff { before_header: header(None), after_header: header(node), before: old, after: new }]
}

/// The volume of a copy has a name of its own, which PVE chooses.
fn renamed(line: &mut String) {
    let disk = Disk::new(line);
    if let Some(storage) = disk.storage().filter(|_| !disk.is_cdrom() || disk.is_cloudinit()) {
        let mut options = disk.options().clone();
        options.insert("file".into(), format!("{storage}:..."));
        *line = Disk::GRAMMAR.line(&options);
    }
}

/// PVE keeps the volumes of drives that are taken out, under names of their own; of one that a
/// running machine lets go of later, it does so then.
fn detached(guest: Option<&Guest>, edit: &Edit, after: &mut BTreeMap<String, String>) {
    let Some(guest) = guest else { return };
    for key in edit.delete.iter().filter(|key| is_drive(key) && !key.starts_with("unused")) {
        let Some(disk) = guest.config.get(key).map(|line| Disk::new(line)) else { continue };
        let Some(volume) = disk.volume().filter(|_| !disk.is_cdrom()) else { continue };
        if guest.running && guest.running_config.contains_key(key) && !plugs(guest, key) {
            continue;
        }
        let free = (0..256).map(|n| format!("unused{n}")).find(|key| !after.contains_key(key));
        after.extend(free.map(|free| (free, volume.to_string())));
    }
}

fn text(config: Option<&BTreeMap<String, String>>, status: Option<&str>) -> String {
    let mut text = String::new();
    if let Some(status) = status {
        text.push_str(&format!("status: {status}\n"));
    }
    for (key, value) in config.into_iter().flatten() {
        if BOOKKEEPING.contains(&key.as_str()) {
            continue;
        }
        let value = readable(key, value);
        if value.contains('\n') {
            text.push_str(&format!("{key}:\n"));
            for line in value.lines() {
                text.push_str(&format!("  {line}\n"));
            }
        } else {
            text.push_str(&format!("{key}: {value}\n"));
        }
    }
    text
}

/// What is returned, as it was read last.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Returned {
    /// The number of the machine; none if it is not there and no number was asked for.
    pub(crate) vmid: Option<Vmid>,
    /// The node it is on, or was to be made on.
    pub(crate) node: Option<NodeName>,
    /// Its name.
    pub(crate) name: Option<String>,
    /// What it does: `running`, `stopped`, `paused`, or `absent`.
    pub(crate) status: String,
    /// The address to reach it by, if O(wait_for) asked for it.
    pub(crate) address: Option<String>,
    /// How the address is known.
    pub(crate) address_source: Option<Source>,
    /// Why there is no address, or why it is only configured.
    pub(crate) address_reason: Option<Reason>,
    /// Its configuration in PVE's keys, with what is pending; passwords masked.
    pub(crate) config: BTreeMap<String, String>,
    /// The same with every property string taken apart.
    #[schemars(with = "BTreeMap<String, serde_json::Value>")]
    pub(crate) config_parsed: BTreeMap<String, Parsed>,
    /// The digest of that configuration, which O(digest) takes.
    pub(crate) digest: Option<ConfigDigest>,
    /// What waits for the next stop and start, by key; the value is null if the key goes away.
    pub(crate) pending: BTreeMap<String, Option<String>>,
    /// Whether something waits that only a stop and start brings into force.
    pub(crate) reboot_required: bool,
    /// The tasks of PVE that this run started.
    pub(crate) upids: Vec<String>,
}

/// What is returned.
pub(crate) fn returned(params: &Params, found: &Found, session: &Session) -> Returned {
    let (address, reason) = match &found.address {
        Some(Ok(address)) => (Some(address), address.unobserved.clone()),
        Some(Err(reason)) => (None, Some(reason.clone())),
        None => (None, None),
    };
    let guest = found.guest.as_ref();
    let masked = |key: &String, value: &String| (key.clone(), readable(key, value));
    let pending: BTreeMap<String, Option<String>> = guest
        .into_iter()
        .flat_map(|guest| &guest.pending)
        .map(|(key, value)| (key.clone(), value.as_deref().map(|value| readable(key, value))))
        .collect();
    // cloud-init values wait for the drive to be written, not for a start
    let waiting: Vec<&str> =
        pending.keys().map(String::as_str).filter(|key| !is_cloudinit(key)).collect();
    let waiting_guest = guest.filter(|guest| guest.running && !waiting.is_empty());
    if let Some(guest) = waiting_guest {
        let what = waiting.join(", ");
        session.run.warn(format!("{} needs a stop and start for: {what}", guest.label()));
    }
    Returned {
        vmid: guest.map(|guest| guest.vmid).or(params.vmid()),
        node: guest.map(|guest| guest.node.clone()).or_else(|| params.node().cloned()),
        name: guest.map(|guest| guest.name().to_owned()).or_else(|| params.name.clone()),
        status: guest.map_or_else(|| "absent".to_owned(), |guest| guest.status.clone()),
        address: address.map(|address| address.ip.to_string()),
        address_source: address.map(|address| address.source),
        address_reason: reason,
        config: guest
            .into_iter()
            .flat_map(|guest| &guest.config)
            .map(|(key, value)| masked(key, value))
            .collect(),
        config_parsed: guest.map(|guest| parsed(&guest.config)).unwrap_or_default(),
        digest: guest.and_then(|guest| guest.digest.clone()),
        reboot_required: waiting_guest.is_some(),
        pending,
        upids: session.upids.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::found::Source as FoundSource;
    use crate::plan::plan;
    use crate::tests::{guest, params};
    use serde_json::{Value, json};

    fn shown(args: &Value, found: &Found) -> Diff {
        let params = params(args);
        diff(&params, found, &plan(&params, found).unwrap()).remove(0)
    }

    #[test]
    fn a_creation_is_shown_as_a_whole_and_no_secret() {
        let args = json!({
            "state": "started", "vmid": 201, "image": "local:import/x.qcow2",
            "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
            "cipassword": "hunter2", "sshkeys": "ssh-rsa AAAA+b a\nssh-rsa AAAA/c b", "ciuser": "me",
        });
        let diff = shown(&args, &Found::default());
        assert_eq!(diff.before, "");
        assert_eq!(diff.after_header, "vm web (201)");
        assert_eq!(
            diff.after,
            "status: running\n\
             cipassword: VALUE_SPECIFIED_IN_NO_LOG_PARAMETER\n\
             ciupgrade: 0\n\
             ciuser: me\n\
             ide2: local:cloudinit\n\
             name: web\n\
             scsi0: local:0,import-from=local:import/x.qcow2,size=8G\n\
             sshkeys:\n  ssh-rsa AAAA+b a\n  ssh-rsa AAAA/c b\n"
        );
    }

    #[test]
    fn a_change_is_shown_between_what_was_and_what_will_be() {
        let there = json!({"cores": "2", "digest": "x", "vga": "std",
                           "scsi0": "local:100/a.raw,size=1G"});
        let found = Found { guest: Some(guest(&there)), ..Found::default() };
        let args = json!({"cores": 4, "delete": ["vga"], "scsi": {"scsi0": {"size": "2G"}}});
        let diff = shown(&args, &found);
        assert_eq!(
            diff.before,
            "status: stopped\ncores: 2\nname: web\nscsi0: local:100/a.raw,size=1G\nvga: std\n"
        );
        assert_eq!(
            diff.after,
            "status: stopped\ncores: 4\nname: web\nscsi0: local:100/a.raw,size=2G\n"
        );
        let gone = shown(&json!({"state": "absent"}), &found);
        assert_eq!(
            (gone.after.as_str(), gone.before_header.as_str()),
            ("", "vm web (100) on pve1")
        );
    }

    #[test]
    fn a_copys_volumes_are_not_shown_as_those_of_its_source() {
        let source = guest(&json!({"scsi0": "local:100/a.raw,size=1G",
                                   "ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom",
                                   "ide0": "local:iso/x.iso,media=cdrom"}));
        let found = Found { source: Some(FoundSource::Clone(source)), ..Found::default() };
        let args = json!({"name": "copy", "clone": "web", "scsi": {"scsi0": {"size": "2G"}}});
        assert_eq!(
            shown(&args, &found).after,
            "status: stopped\nide0: local:iso/x.iso,media=cdrom\nide2: local:...,media=cdrom\n\
             name: copy\nscsi0: local:...,size=2G\n"
        );
    }

    #[test]
    fn what_no_setting_shows_is_shown_too() {
        let there = json!({"cores": "2", "scsi1": "local:100/b.raw,size=1G", "cipassword": "**",
                           "ide2": "local:100/vm-100-cloudinit.qcow2,media=cdrom",
                           "ide0": "local:100/c.raw,size=1G", "unused0": "local:100/a.raw"});
        let mut running = guest(&there);
        running.running = true;
        running.status = "running".into();
        for (args, old, new) in [
            (json!({"node": "pve2", "migrate": true}), "node: pve1\n", "node: pve2\n"),
            (json!({"state": "restarted"}), "status: running\n", "status: running (restarted)\n"),
            (
                json!({"cores": 4, "reboot": "if_required"}),
                "cores: 2\n",
                "status: running (restarted if need be)\n",
            ),
            (
                json!({"cipassword": "new", "update_password": "always"}),
                "",
                "# set cipassword to \"VALUE_SPECIFIED_IN_NO_LOG_PARAMETER\" (was",
            ),
            (json!({"delete": ["scsi1"]}), "scsi1: local", "unused1: local:100/b.raw\n"),
            (json!({"delete": ["ide0"]}), "ide0: local", "unused0: local:100/a.raw\n"),
        ] {
            let diff = shown(&args, &Found { guest: Some(running.clone()), ..Found::default() });
            assert_ne!(diff.before, diff.after, "{args}");
            assert!(diff.before.contains(old), "{args}: {}", diff.before);
            assert!(diff.after.contains(new), "{args}: {}", diff.after);
            assert!(!diff.after.contains("/c.raw") || args["delete"] != json!(["ide0"]));
        }
    }
}
