//! `status/...`: starting, stopping and what lies between.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::super::super::call::{Call, TaskHandle};
use super::super::super::error::{ApiError, ApiResult};
use super::{cloudinit, values, volumes};
use crate::driver::{Disk, GuestDefinition, Nic};
use crate::shared::Shared;
use crate::state::access::Identity;
use crate::state::config::Section;
use crate::state::guest::{Running, drives, is_slot, slot_number};
use crate::state::{Guest, now};

/// The least time between the end of a reboot's task and the start that follows.
const REBOOT_GAP: Duration = Duration::from_millis(300);

/// The cards of a guest.
pub(crate) fn nics(main: &Section) -> Vec<Nic> {
    let mut nics: Vec<Nic> = main
        .iter()
        .filter(|(key, _)| is_slot(key, "net"))
        .map(|(key, value)| {
            let (model, mac, rest) = values::net_parts(value);
            let option = |name: &str| {
                rest.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
            };
            Nic {
                slot: slot_number(key),
                model,
                mac,
                bridge: option("bridge").map(str::to_owned),
                tag: option("tag").and_then(|tag| tag.parse().ok()),
                link_up: option("link_down") != Some("1"),
            }
        })
        .collect();
    nics.sort_by_key(|nic| nic.slot);
    nics
}

fn disks(shared: &Shared, main: &Section) -> Result<Vec<Disk>, String> {
    let order: Vec<&str> = main
        .get("boot")
        .and_then(|boot| boot.strip_prefix("order="))
        .map(|order| order.split(';').collect())
        .unwrap_or_default();
    let mut disks = Vec::new();
    for (slot, drive) in drives(main) {
        if drive.is_cdrom() || matches!(slot.as_str(), "efidisk0" | "tpmstate0") {
            continue;
        }
        let (volume, storage) = volumes::locate(shared, &drive.file)?;
        let path: PathBuf = volume.file(&storage);
        let format = match shared.driver.volume_info(&path) {
            Ok(info) => info.format,
            Err(_) => return Err(format!("volume '{}' does not exist", drive.file)),
        };
        disks.push(Disk { boot: order.first() == Some(&slot.as_str()), slot, path, format });
    }
    let place =
        |disk: &Disk| order.iter().position(|slot| *slot == disk.slot).unwrap_or(usize::MAX);
    disks.sort_by_key(|disk| (place(disk), disk.slot.clone()));
    if let Some(first) = disks.first_mut() {
        first.boot = true;
    }
    Ok(disks)
}

fn definition(shared: &Shared, guest: &Guest) -> Result<GuestDefinition, String> {
    let main = &guest.config.main;
    let has_drive = drives(main).iter().any(|(_, drive)| drive.is_cloudinit());
    let seed = has_drive.then(|| cloudinit::seed(shared, guest.vmid, main));
    let uuid = main
        .get("smbios1")
        .and_then(|text| text.split(',').find_map(|part| part.strip_prefix("uuid=")))
        .unwrap_or_default();
    Ok(GuestDefinition {
        vmid: guest.vmid,
        name: guest.name(),
        node: guest.node.clone(),
        memory: guest.memory(),
        cpus: u32::try_from(guest.cpus()).unwrap_or(1),
        nics: nics(main),
        disks: disks(shared, main)?,
        seed,
        agent: guest.agent(),
        uuid: uuid.to_owned(),
    })
}

/// Starts a VM, within a task.
pub(crate) fn bring_up(
    shared: &Arc<Shared>,
    node: &str,
    vmid: u32,
    task: &TaskHandle,
) -> Result<(), String> {
    let _lock = shared.locks.take(vmid, shared.lock_timeout())?;
    let guest = {
        let mut state = shared.state();
        let bridges = state.cluster.nodes.get(node).map(|n| n.bridges.clone()).unwrap_or_default();
        let guest = state.vm_mut(node, vmid)?;
        // one that hibernates is resumed by a start
        if guest.setting("lock") == Some("suspended") {
            guest.config.main.remove("lock");
        }
        guest.check_lock()?;
        if guest.is_template() {
            return Err("you can't start a vm if it's a template".to_owned());
        }
        if guest.running.is_some() {
            return Err(format!("VM {vmid} already running"));
        }
        guest.config.apply_pending();
        for nic in nics(&guest.config.main) {
            if let Some(bridge) = nic.bridge.filter(|bridge| !bridges.contains(bridge)) {
                return Err(if shared.old() {
                    "start failed: QEMU exited with code 1".to_owned()
                } else {
                    format!("bridge '{bridge}' does not exist")
                });
            }
        }
        guest.clone()
    };
    let definition = definition(shared, &guest)?;
    if definition.seed.is_some() {
        task.log("generating cloud-init ISO");
    }
    let pid = shared.driver.start(&definition).map_err(|e| format!("start failed: {e}"))?;
    let mut state = shared.state();
    let machine = match guest.setting("machine") {
        Some(machine) if machine.contains("q35") => "pc-q35-10.0",
        _ => "pc-i440fx-10.0",
    };
    if let Some(guest) = state.guests.get_mut(&vmid) {
        guest.generated = Some(guest.config.main.clone());
        guest.running =
            Some(Running { pid, since: now(), paused: false, machine: machine.to_owned() });
    }
    state.save_guest(vmid);
    Ok(())
}

/// Starts the VM.
pub(crate) fn start(call: Call) -> ApiResult {
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    let managed = call.state().cluster.ha.contains_key(&format!("vm:{vmid}"));
    if managed {
        // without a manager nobody carries out what it is told
        return call.task("hastart", &vmid.to_string(), move |task| {
            task.log(format!("Requesting HA start for VM {vmid}"));
            Ok(())
        });
    }
    call.task("qmstart", &vmid.to_string(), move |task| bring_up(&shared, &node, vmid, task))
}

fn lock_check(shared: &Shared, node: &str, vmid: u32) -> Result<bool, String> {
    let state = shared.state();
    let guest = state.vm(node, vmid)?;
    guest.check_lock()?;
    Ok(guest.running.is_some())
}

fn end_now(shared: &Shared, vmid: u32) -> Result<(), String> {
    shared.driver.stop(vmid).map_err(|e| e.to_string())?;
    shared.state().stopped(vmid);
    Ok(())
}

/// Stops the VM at once.
pub(crate) fn stop(call: Call) -> ApiResult {
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    call.task("qmstop", &vmid.to_string(), move |_| {
        if lock_check(&shared, &node, vmid)? {
            end_now(&shared, vmid)?;
        }
        Ok(())
    })
}

/// Asks the guest to end; whether it did in time.
fn ask(shared: &Shared, vmid: u32, timeout: Duration) -> Result<bool, String> {
    let done = shared.driver.shutdown(vmid, timeout).map_err(|e| e.to_string())?;
    if done {
        shared.state().stopped(vmid);
    }
    Ok(done)
}

fn timeout(call: &Call) -> Duration {
    call.shared.delay(call.params.number("timeout").unwrap_or(180) as f64)
}

/// Shuts the VM down, and stops it if that fails and is asked for.
pub(crate) fn shutdown(call: Call) -> ApiResult {
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    let (timeout, force) = (timeout(&call), call.params.flag("forceStop"));
    call.task("qmshutdown", &vmid.to_string(), move |task| {
        if !lock_check(&shared, &node, vmid)? || ask(&shared, vmid, timeout)? {
            return Ok(());
        }
        if !force {
            return Err("VM quit/powerdown failed - got timeout".to_owned());
        }
        task.log("VM still running - terminating now with SIGTERM");
        end_now(&shared, vmid)
    })
}

fn require_running(call: &Call) -> Result<(), ApiError> {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    if guest.running.is_some() {
        Ok(())
    } else {
        Err(ApiError::internal(format!("VM {} not running", call.vmid())))
    }
}

/// Reboots the VM: the task ends when it is down, and a task of root's own starts it again.
pub(crate) fn reboot(call: Call) -> ApiResult {
    require_running(&call)?;
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    let timeout = timeout(&call);
    call.task("qmreboot", &vmid.to_string(), move |_| {
        lock_check(&shared, &node, vmid)?;
        if !ask(&shared, vmid, timeout)? {
            return Err("VM quit/powerdown failed - got timeout".to_owned());
        }
        std::thread::spawn(move || {
            // however fast the lab is told to be, the guest is down for a while
            std::thread::sleep(shared.delay(1.0).max(REBOOT_GAP));
            let root = Identity { user: "root@pam".to_owned(), token: None };
            let again = Arc::clone(&shared);
            shared.begin_task(&node.clone(), "qmstart", &vmid.to_string(), &root, move |task| {
                bring_up(&again, &node, vmid, task)
            });
        });
        Ok(())
    })
}

/// Resets the VM as the button would.
pub(crate) fn reset(call: Call) -> ApiResult {
    require_running(&call)?;
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    call.task("qmreset", &vmid.to_string(), move |_| {
        lock_check(&shared, &node, vmid)?;
        let guest = shared.state().vm(&node, vmid)?.clone();
        let definition = definition(&shared, &guest)?;
        shared.driver.stop(vmid).map_err(|e| e.to_string())?;
        let pid = shared.driver.start(&definition).map_err(|e| e.to_string())?;
        let mut state = shared.state();
        if let Some(running) = state.vm_mut(&node, vmid)?.running.as_mut() {
            running.pid = pid;
        }
        Ok(())
    })
}

/// Pauses the VM, or writes its memory to disk and stops it.
pub(crate) fn suspend(call: Call) -> ApiResult {
    let to_disk = call.params.flag("todisk");
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    let kind = if to_disk { "qmsuspend" } else { "qmpause" };
    call.task(kind, &vmid.to_string(), move |_| {
        if !lock_check(&shared, &node, vmid)? {
            return Err(format!("VM {vmid} not running"));
        }
        if to_disk {
            end_now(&shared, vmid)?;
            let mut state = shared.state();
            state.vm_mut(&node, vmid)?.config.main.insert("lock".into(), "suspended".into());
            state.save_guest(vmid);
            return Ok(());
        }
        shared.driver.suspend(vmid).map_err(|e| e.to_string())?;
        set_paused(&shared, &node, vmid, true)
    })
}

fn set_paused(shared: &Shared, node: &str, vmid: u32, paused: bool) -> Result<(), String> {
    let mut state = shared.state();
    if let Some(running) = state.vm_mut(node, vmid)?.running.as_mut() {
        running.paused = paused;
    }
    Ok(())
}

/// Lets the VM go on.
pub(crate) fn resume(call: Call) -> ApiResult {
    let (shared, node, vmid) = (Arc::clone(&call.shared), call.node().to_owned(), call.vmid());
    call.task("qmresume", &vmid.to_string(), move |task| {
        let suspended = {
            let mut state = shared.state();
            let guest = state.vm_mut(&node, vmid)?;
            let suspended = guest.setting("lock") == Some("suspended");
            if suspended {
                guest.config.main.remove("lock");
            } else {
                guest.check_lock()?;
                if guest.running.is_none() {
                    return Err(format!("VM {vmid} not running"));
                }
            }
            suspended
        };
        if suspended {
            return bring_up(&shared, &node, vmid, task);
        }
        shared.driver.resume(vmid).map_err(|e| e.to_string())?;
        set_paused(&shared, &node, vmid, false)
    })
}
