//! What is wrong with a configuration as a whole, though each value of it is right by itself. The
//! server finds some of it only in mid-creation, and some only when the machine is started.

use std::collections::BTreeMap;

use ansible_module::Failure;
use pve_types::property::{Agent, Boot, Disk, IpConfig, MemoryString};

use crate::change::{Change, From};
use crate::found::{Found, is_drive, label};
use crate::params::{Params, State, WaitFor};

type Config = BTreeMap<String, String>;

/// Makes sure that a plan leads to a configuration that fits together. What was wrong before is no
/// reason to refuse a change of something else.
///
/// # Errors
/// Names each key that does not fit, and why.
pub(crate) fn check(params: &Params, found: &Found, plan: &[Change]) -> Result<(), Failure> {
    let before = found.guest.as_ref().map(|guest| guest.config.clone()).unwrap_or_default();
    let mut after = before.clone();
    for change in plan {
        match change {
            // what is in a backup is not always known
            Change::Create(creation) if matches!(creation.from, From::Archive { .. }) => {
                return Ok(());
            }
            Change::Create(creation) => after.clone_from(&creation.config),
            Change::Set(edit) => {
                after.retain(|key, _| !edit.delete.contains(key));
                after.extend(edit.set.clone());
                for key in edit.revert.keys() {
                    let now = found.guest.as_ref().and_then(|guest| guest.running_config.get(key));
                    after.remove(key);
                    after.extend(now.map(|value| (key.clone(), value.clone())));
                }
            }
            _ => {}
        }
    }
    // a device that is taken out may stay in the order: the firmware goes on to the next
    if before.get("boot") == after.get("boot") {
        after.remove("boot");
    }
    let old = problems(&before);
    let mut new: Vec<String> =
        problems(&after).into_iter().filter(|problem| !old.contains(problem)).collect();
    if !plan.is_empty() {
        new.extend(waits_in_vain(params, &after));
    }
    if new.is_empty() {
        return Ok(());
    }
    let name = match &found.guest {
        Some(guest) => guest.label(),
        None => label(params.name.as_deref(), params.vmid()),
    };
    Err(Failure::new(format!("{name} would not work: {}", new.join("; "))))
}

/// What a machine without agent is waited for in vain. A static address is known without it.
fn waits_in_vain(params: &Params, after: &Config) -> Option<String> {
    let starts = matches!(params.state, State::Started | State::Restarted);
    let on = after.get("agent").is_some_and(|line| Agent::new(line).enabled());
    let known = || {
        let mut lines = after.iter().filter(|(key, _)| key.starts_with("ipconfig"));
        lines.any(|(_, line)| !IpConfig::new(line).fixed().is_empty())
    };
    let what = match params.wait_for {
        WaitFor::Agent if starts && !on => "agent",
        WaitFor::Address if starts && !on && !known() => "address",
        _ => return None,
    };
    Some(format!(
        "wait_for: {what} does not come from a machine whose agent is off: set agent to true"
    ))
}

fn problems(config: &Config) -> Vec<String> {
    let number = |key: &str, default: u64| {
        config.get(key).map_or(Some(default), |text| text.trim().parse::<u64>().ok())
    };
    let mut problems = Vec::new();
    if let Some(boot) = config.get("boot") {
        for device in Boot::new(boot).order().into_iter().filter(|d| !config.contains_key(*d)) {
            problems.push(format!("boot: it names {device}, and the machine has no {device}"));
        }
    }
    let drives: Vec<&str> = config
        .iter()
        .filter(|(key, line)| is_drive(key) && Disk::new(line).is_cloudinit())
        .map(|(key, _)| key.as_str())
        .collect();
    if drives.len() > 1 {
        let drives = drives.join(" and ");
        problems.push(format!("{drives} are cloud-init drives, and PVE takes one only"));
    }
    let memory = config.get("memory").map_or(Some(512), |line| MemoryString::new(line).mib());
    if let (Some(balloon), Some(memory)) = (number("balloon", 0), memory)
        && balloon > memory
    {
        problems.push(format!("balloon: {balloon} MiB are more than its memory of {memory} MiB"));
    }
    if let (Some(vcpus), Some(cores), Some(sockets)) =
        (number("vcpus", 0), number("cores", 1), number("sockets", 1))
        && vcpus > cores.saturating_mul(sockets)
    {
        problems.push(format!(
            "vcpus: {vcpus} are more than its {cores} cores in each of {sockets} sockets"
        ));
    }
    problems
}

#[cfg(test)]
mod tests {
    use crate::found::Found;
    use crate::plan::plan;
    use crate::tests::{guest, params};
    use serde_json::{Value, json};

    fn said(args: &Value, config: &Value) -> String {
        let found = match config {
            Value::Null => Found::default(),
            config => Found { guest: Some(guest(config)), ..Found::default() },
        };
        plan(&params(args), &found).err().map(|e| e.message().to_owned()).unwrap_or_default()
    }

    #[test]
    fn what_does_not_fit_together_is_told_before_it_is_written() {
        let disk = json!({"scsi0": "local:100/a.raw,size=1G", "boot": "order=scsi0"});
        for (args, config, text) in [
            (json!({"boot": "order=scsi9"}), &disk, "boot: it names scsi9, and the machine has no"),
            (json!({"boot": "order=scsi0;net0"}), &disk, "boot: it names net0"),
            (json!({"boot": "order=net0", "net": {"net0": "virtio"}}), &disk, ""),
            (json!({"boot": "cdn"}), &disk, ""),
            (json!({"delete": ["scsi0"]}), &disk, ""),
            (
                json!({"delete": ["scsi0"], "boot": "order=scsi0;net1"}),
                &disk,
                "boot: it names scsi0",
            ),
            (
                json!({"vmid": 201, "node": "pve1", "boot": "order=scsi0"}),
                &Value::Null,
                "boot: it names scsi0",
            ),
            (json!({"balloon": 1024}), &json!({"memory": "512"}), "balloon: 1024 MiB are more"),
            (json!({"balloon": 1024}), &json!({}), "than its memory of 512 MiB"),
            (json!({"balloon": 512}), &json!({"memory": "current=512"}), ""),
            (json!({"memory": 256}), &json!({"memory": "512", "balloon": "512"}), "balloon: 512"),
            (json!({"vcpus": 5}), &json!({"cores": "2", "sockets": "2"}), "vcpus: 5 are more than"),
            (json!({"vcpus": 4}), &json!({"cores": "2", "sockets": "2"}), ""),
            (
                json!({"sata": {"sata0": "local:cloudinit"}}),
                &json!({"ide0": "local:100/vm-100-cloudinit.qcow2,media=cdrom"}),
                "ide0 and sata0 are cloud-init drives, and PVE takes one only",
            ),
            (
                json!({"sata": {"sata0": "local:cloudinit"}, "ide": {"ide0": null}}),
                &json!({"ide0": "local:100/vm-100-cloudinit.qcow2,media=cdrom"}),
                "",
            ),
            (
                json!({"state": "started", "wait_for": "agent"}),
                &json!({}),
                "wait_for: agent does not come from a machine whose agent is off: set agent to true",
            ),
            (
                json!({"state": "started", "wait_for": "address"}),
                &json!({"agent": "enabled=0", "ipconfig0": "ip=dhcp"}),
                "wait_for: address does not come",
            ),
            (
                json!({"state": "started", "wait_for": "address"}),
                &json!({"ipconfig0": "ip=10.0.0.5/24"}),
                "",
            ),
            (json!({"state": "started", "wait_for": "agent"}), &json!({"agent": "1"}), ""),
            (
                json!({"state": "started", "wait_for": "agent", "agent": "enabled=1,type=isa"}),
                &json!({}),
                "",
            ),
            // it was so before
            (json!({"cores": 1}), &json!({"boot": "order=scsi3", "scsi1": "local:1/a"}), ""),
        ] {
            let said = said(&args, config);
            assert!(said.contains(text) && said.is_empty() == text.is_empty(), "{args}: {said}");
        }
    }
}
