//! A lab with machines in it.

use pve_client::Form;
pub(crate) use pve_lab::Bench;
use pve_lab::LabConfig;

/// A lab as said.
pub(crate) fn with(config: LabConfig) -> Bench {
    Bench::with(env!("CARGO_BIN_EXE_pve_vm_info"), config)
}

/// Changes settings.
pub(crate) fn set(bench: &Bench, vmid: u32, settings: &[(&str, &str)]) {
    let form: Form = settings.iter().copied().collect();
    bench.qemu(vmid, async |qemu| qemu.set_config(&form).await).unwrap();
}

/// Makes a snapshot.
pub(crate) fn snapshot(bench: &Bench, vmid: u32, name: &str, description: &str) {
    let form = Form::new().text("description", description);
    bench.done(vmid, async |qemu| qemu.create_snapshot(name, form).await);
}
