//! Whole fleets, made from a seed by the lab.

use std::process::Command;
use std::time::Duration;

use pve_lab::{CallFault, Fleet, Lab, LabConfig};
use serde_json::Value;

use crate::ansible::cores;
use crate::fleet::{foreign, hosts, printed};

fn lab(fleet: Fleet) -> Lab {
    Lab::start(LabConfig { fleet: Some(fleet), ..LabConfig::default() })
}

fn environment(lab: &Lab) -> Vec<(&'static str, String)> {
    let (id, secret) = lab.token();
    vec![
        ("PROXMOX_URL", lab.url()),
        ("PROXMOX_TOKEN_ID", id),
        ("PROXMOX_TOKEN_SECRET", secret),
        ("PROXMOX_FINGERPRINT", lab.fingerprint()),
    ]
}

fn list(lab: &Lab) -> Value {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pve_inventory"));
    let run = printed(command.arg("--list").env_clear().envs(environment(lab)).current_dir("/"));
    assert_eq!((run.status, run.stderr.as_str()), (Some(0), ""));
    serde_json::from_str(&run.stdout).unwrap()
}

/// The address that the lab gives a guest's net0.
fn address(vmid: u64) -> String {
    format!("10.{}.{}.{}", vmid >> 16 & 255, vmid >> 8 & 255, vmid & 255)
}

#[test]
fn a_fleet_is_read_with_the_right_addresses_and_few_calls() {
    let lab = lab(Fleet { guests: 300, silent: 5, ..Fleet::default() });
    let inventory = list(&lab);
    let hostvars = inventory["_meta"]["hostvars"].as_object().unwrap();
    assert_eq!(hostvars.len(), 300);
    let (mut reached, mut silent) = (0, 0);
    for (host, vars) in hostvars {
        let running = foreign(vars, "pve_status") == "running";
        match vars.get("ansible_host") {
            Some(ip) => {
                assert!(running, "{host}");
                assert_eq!(*ip, address(vars["pve_vmid"].as_u64().unwrap()), "{host}");
                reached += 1;
            }
            None => {
                let word = if running { "agent_silent" } else { "not_running" };
                assert_eq!(vars["pve_address_reason_kind"], word, "{host}: {vars}");
                silent += usize::from(running);
            }
        }
    }
    let running = hosts(&inventory, "pve_status_running").len();
    assert!(reached > 200 && silent > 0 && reached + silent == running);
    let nodes: usize =
        (1..=3).map(|node| hosts(&inventory, &format!("pve_node_pve{node}")).len()).sum();
    assert_eq!(nodes, 300);
    let requests = lab.requests();
    assert!(requests.len() <= 300 + running + 5, "{} calls", requests.len());
    assert!(!requests.iter().any(pve_lab::Request::is_write), "an inventory only reads");
}

#[test]
fn a_node_that_is_off_and_calls_that_break_spoil_nothing_else() {
    let lab = lab(Fleet { guests: 30, stopped: 0, containers: 0, ..Fleet::default() });
    lab.set_offline("pve2", true);
    lab.fail_calls("GET", "/config", 3, CallFault::DropBefore);
    let inventory = list(&lab);
    let missing = hosts(&inventory, "pve_address_missing");
    assert_eq!(missing.len(), 10);
    for host in &missing {
        let vars = &inventory["_meta"]["hostvars"][host];
        let reason = foreign(vars, "pve_address_reason");
        assert!(reason.starts_with("node pve2 does not answer"), "{host}: {reason}");
    }
    assert_eq!(inventory["_meta"]["hostvars"].as_object().unwrap().len(), 30);
}

#[test]
fn a_hostile_fleet_runs_nothing_in_ansible() {
    let lab = lab(Fleet { guests: 60, hostile: true, ..Fleet::default() });
    let inventory = list(&lab);
    assert_eq!(inventory["_meta"]["hostvars"].as_object().unwrap().len(), 60);
    let folder = tempfile::tempdir().unwrap();
    for core in cores() {
        let mut command = core.program(folder.path(), "ansible-inventory", &["--list"]);
        core.quiet(command.envs(environment(&lab)));
    }
    assert!(!std::path::Path::new("/tmp/owned").exists());
}

#[test]
fn slow_answers_are_waited_for_at_once_and_not_in_turn() {
    let lab = Lab::start(LabConfig {
        fleet: Some(Fleet {
            guests: 64,
            agent_latency: Duration::from_millis(60),
            ..Fleet::default()
        }),
        latency: Duration::from_millis(50),
        ..LabConfig::default()
    });
    let started = std::time::Instant::now();
    let inventory = list(&lab);
    assert_eq!(hosts(&inventory, "pve_guests").len(), 64);
    // one after the other this is 64 configurations at 50 ms and as many agents at 110 ms: 10 s
    assert!(started.elapsed() < Duration::from_secs(4), "{:?}", started.elapsed());
}
