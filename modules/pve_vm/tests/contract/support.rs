//! A lab, and what is asked of it.

pub(crate) use pve_lab::Bench;
use pve_lab::LabConfig;
use serde_json::{Value, json};

/// What most tests ask for.
pub(crate) fn web() -> Value {
    json!({
        "vmid": 201, "name": "web", "node": "pve1", "state": "started",
        "image": "local:import/debian-13.qcow2",
        "cores": 2, "memory": 1024, "ostype": "l26", "scsihw": "virtio-scsi-single",
        "agent": true, "onboot": true, "tags": ["web", "demo"],
        "net": {"net0": "virtio,bridge=vmbr0"},
        "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
        "ciuser": "admin",
        "ipconfig": {"ipconfig0": "ip=dhcp"},
    })
}

/// A lab with one node and an image, state only, in which nothing takes longer than it must.
pub(crate) fn bench() -> Bench {
    with(LabConfig::default())
}

/// A lab as said.
pub(crate) fn with(config: LabConfig) -> Bench {
    Bench::with(env!("CARGO_BIN_EXE_pve_vm"), config)
}

/// How many machines were made.
pub(crate) fn creations(bench: &Bench) -> usize {
    bench.writes().iter().filter(|call| call.ends_with("/qemu")).count()
}
