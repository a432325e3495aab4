//! The inventory's scenarios of `docs/privileges.yml` with exactly the privileges that it says, and
//! with one less.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::process::Command;

use pve_lab::{Fleet, Lab, LabConfig, PveVersion, scenarios};
use serde_json::Value;

/// Guests 100 to 201, all of them running machines with an agent.
fn lab(version: PveVersion) -> Lab {
    let fleet = Fleet { guests: 102, nodes: 1, containers: 0, stopped: 0, ..Fleet::default() };
    Lab::start(LabConfig { fleet: Some(fleet), version, ..LabConfig::default() })
}

/// Lists with a token; what is missing, if the one host that the scenario is about lacks something.
fn list(lab: &Lab, id: &str, secret: &str) -> Result<(), String> {
    let output = Command::new(env!("CARGO_BIN_EXE_pve_inventory"))
        .arg("--list")
        .env_clear()
        .env("PROXMOX_URL", lab.url())
        .env("PROXMOX_TOKEN_ID", id)
        .env("PROXMOX_TOKEN_SECRET", secret)
        .env("PROXMOX_FINGERPRINT", lab.fingerprint())
        .current_dir("/")
        .output()
        .unwrap();
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    let inventory: Value = serde_json::from_slice(&output.stdout).unwrap();
    let hosts = inventory["_meta"]["hostvars"].as_object().unwrap();
    assert!(hosts.len() <= 1, "{inventory}");
    let Some(vars) = hosts.values().next() else {
        return Err("nothing is listed of what the caller may not see".to_owned());
    };
    if vars["ansible_host"].is_string() { Ok(()) } else { Err(vars.to_string()) }
}

#[test]
fn listing_needs_exactly_what_is_written() {
    for version in [PveVersion::V9, PveVersion::V8] {
        for scenario in scenarios("pve_inventory") {
            let wrong = scenario.prove(version, || lab(version), list);
            assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        }
    }
}
