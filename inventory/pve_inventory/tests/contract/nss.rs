//! A static program that asks the C library for a name loads its name service modules and crashes in
//! them. Here such a module kills whoever loads it, and the inventory must not notice.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::fleet::{Fleet, Running, config, printed, row, vars};

/// A name service module that kills its program.
const MODULE: &str =
    "#include <stdlib.h>\n__attribute__((constructor)) static void die(void) { abort(); }\n";

/// A command in a mount namespace of its own, where every name goes to that module first.
fn poisoned(fleet: &Running, program: &Path, arguments: &[&str]) -> Command {
    let folder = fleet.folder();
    fleet.write("module.c", MODULE);
    fleet.write("nsswitch.conf", "passwd: ferrite\ngroup: ferrite\nhosts: ferrite dns\n");
    fleet.write("hosts", "127.0.0.1 pve.ferrite.test\n");
    let module = folder.join("libnss_ferrite.so.2");
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&module, &folder.join("module.c")])
        .status()
        .expect("cc, which linked this test as well");
    assert!(compiled.success());
    let mut command = Command::new("unshare");
    command
        // with a user namespace root is not needed
        .args(["--mount", "--map-root-user", "/bin/sh", "-ec"])
        .arg("for f in nsswitch.conf hosts; do mount --bind \"$f\" /etc/$f; done; exec \"$@\"")
        .args(["sh".as_ref(), program.as_os_str()])
        .args(arguments)
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("LD_LIBRARY_PATH", folder)
        .envs(fleet.environment())
        .current_dir(folder);
    command
}

#[test]
fn names_are_found_beside_a_deadly_name_service_module() {
    let fleet = Fleet::default()
        .row(row(100, "web"))
        .data("/nodes/pve1/qemu/100/config", config("BC:24:11:AA:BB:01"))
        .start();
    let control =
        poisoned(&fleet, Path::new("/usr/bin/getent"), &["hosts", "no-such-host.invalid"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
    assert_eq!(control.status.signal(), Some(6), "the module does not kill: {control:?}");

    let inventory = Path::new(env!("CARGO_BIN_EXE_pve_inventory"));
    let mut command = poisoned(&fleet, inventory, &["--list"]);
    let missing = printed(command.env("PROXMOX_HOST", "no-such-host.invalid"));
    assert_eq!((missing.status, missing.stdout.as_str()), (Some(1), ""), "{missing:?}");
    assert!(missing.stderr.contains("no-such-host.invalid:"), "{missing:?}");

    let mut command = poisoned(&fleet, inventory, &["--list"]);
    let found = printed(command.env("PROXMOX_HOST", "pve.ferrite.test"));
    assert_eq!((found.status, found.stderr.as_str()), (Some(0), ""), "{found:?}");
    let list = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(vars(&list, "web")["pve_vmid"], 100);
}
