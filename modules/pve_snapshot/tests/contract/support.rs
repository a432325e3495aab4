//! A lab with machines in it.

pub(crate) use pve_lab::Bench;
use pve_lab::LabConfig;

/// A lab as said.
pub(crate) fn with(config: LabConfig) -> Bench {
    Bench::with(env!("CARGO_BIN_EXE_pve_snapshot"), config)
}

/// Makes a machine with a disk that can have snapshots.
pub(crate) fn make(bench: &Bench, vmid: u32, name: &str, settings: &[(&str, &str)]) {
    let disk = [("scsi0", "local:1,format=qcow2")];
    bench.make(vmid, name, &[&disk, settings].concat());
}

/// The snapshots of a machine with what they stand on, and what the machine stands on.
pub(crate) fn tree(bench: &Bench, vmid: u32) -> Vec<String> {
    let rows = bench.qemu(vmid, async |qemu| qemu.snapshots().await).unwrap();
    let shown = |parent: Option<String>| parent.unwrap_or_else(|| "-".into());
    let mut rows: Vec<String> =
        rows.into_iter().map(|row| format!("{} on {}", row.name, shown(row.parent))).collect();
    rows.sort();
    rows
}
