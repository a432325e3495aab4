//! Making, starting, stopping and removing.

use serde_json::{Value, json};

use super::*;

#[test]
fn b70_a_creation_is_foretold_as_a_whole() {
    let args = json!({
        "vmid": 201, "state": "started", "image": "local:import/debian-13.qcow2",
        "cores": 2, "memory": 1024, "tags": ["web", "demo"], "agent": "enabled=1", "onboot": true,
        "startup": "1,up=10", "ostype": "l26", "scsihw": "virtio-scsi-single",
        "net": {"net0": "virtio,bridge=vmbr0"},
        "scsi": {"scsi0": {"storage": "local", "size": "8G", "discard": true}},
        "ciuser": "admin", "cipassword": "hunter2", "sshkeys": "ssh-ed25519 AAAA+b me",
        "ipconfig": {"ipconfig0": "ip=dhcp"}, "pool": "p1",
    });
    let plan = plan(&params(&args), &Found::default()).unwrap();
    let lines: Vec<String> = plan.iter().map(ToString::to_string).collect();
    assert_eq!(
        lines,
        [
            "create vm web (201) on pve1 from local:import/debian-13.qcow2",
            "grow scsi0 of vm web (201) to 8G",
            "start vm web (201)",
        ]
    );
    let Change::Create(creation) = &plan[0] else { panic!("{plan:?}") };
    assert_eq!(creation.pool.as_deref(), Some("p1"));
    assert_eq!(
        creation.config,
        pairs(&[
            ("agent", "1"),
            ("cipassword", "hunter2"),
            ("ciupgrade", "0"),
            ("ciuser", "admin"),
            ("cores", "2"),
            ("ide2", "local:cloudinit"),
            ("ipconfig0", "ip=dhcp"),
            ("memory", "1024"),
            ("name", "web"),
            ("net0", "virtio,bridge=vmbr0"),
            ("onboot", "1"),
            ("ostype", "l26"),
            ("scsi0", "local:0,discard=on,import-from=local:import/debian-13.qcow2"),
            ("scsihw", "virtio-scsi-single"),
            ("sshkeys", "ssh-ed25519%20AAAA%2Bb%20me"),
            ("startup", "order=1,up=10"),
            ("tags", "demo;web"),
        ])
    );
}

#[test]
fn creation_is_refused_where_it_cannot_be() {
    for (args, text) in [
        (json!({"node": null}), "vm web does not exist, and node is not given"),
        (json!({"image": "local:import/x.qcow2"}), "image: there is no disk to make from it"),
        (
            json!({"image": "local:import/x.qcow2",
                   "scsi": {"scsi0": {"storage": "local", "import_from": "local:import/y.qcow2"}}}),
            "scsi0 says import_from 'local:import/y.qcow2'",
        ),
    ] {
        let error = lines(&args, &Found::default()).unwrap_err();
        assert!(error.contains(text), "{error}");
    }
}

#[test]
fn states_from_states() {
    let with = |running: bool, status: &str, config: Value| {
        let mut guest = guest(&config);
        guest.running = running;
        guest.status = status.into();
        found(guest)
    };
    let disk = json!({"scsi0": "local:100/a.raw,size=1G", "ide2": "none,media=cdrom"});
    for (case, args, there, expected) in [
        (
            "start",
            json!({"state": "started"}),
            with(false, "stopped", json!({})),
            Ok(&["start vm web (100)"][..]),
        ),
        ("started", json!({"state": "started"}), with(true, "running", json!({})), Ok(&[][..])),
        (
            "paused",
            json!({"state": "started"}),
            with(true, "paused", json!({})),
            Ok(&["resume vm web (100)"][..]),
        ),
        ("stopped", json!({"state": "stopped"}), with(false, "stopped", json!({})), Ok(&[][..])),
        (
            "stop",
            json!({"state": "stopped"}),
            with(true, "running", json!({})),
            Ok(&["shut down vm web (100) within 120 s"][..]),
        ),
        ("present", json!({}), with(true, "running", json!({})), Ok(&[][..])),
        (
            "current",
            json!({"state": "current", "memory": 9}),
            with(true, "running", json!({})),
            Ok(&[][..]),
        ),
        ("gone", json!({"state": "absent"}), Found::default(), Ok(&[][..])),
        ("current and gone", json!({"state": "current"}), Found::default(), Ok(&[][..])),
        (
            "destroy",
            json!({"state": "absent"}),
            with(false, "stopped", disk.clone()),
            Ok(&["destroy vm web (100) with its volumes scsi0 local:100/a.raw"][..]),
        ),
        (
            "b63",
            json!({"state": "absent"}),
            with(true, "running", disk.clone()),
            Err("vm web (100) is running: stop it first, or set force"),
        ),
        (
            "b63 with force",
            json!({"state": "absent", "force": true}),
            with(true, "running", json!({})),
            Ok(
                &["shut down vm web (100), and stop it hard after 120 s", "destroy vm web (100)"][..],
            ),
        ),
        (
            "b64",
            json!({"state": "absent", "force": true}),
            with(true, "running", json!({"protection": "1"})),
            Err("vm web (100) is protected"),
        ),
        (
            "template",
            json!({"state": "started"}),
            with(false, "stopped", json!({"template": "1"})),
            Err("is a template"),
        ),
        (
            "b71",
            json!({"state": "started", "cores": 4, "tags": ["a"]}),
            with(false, "stopped", json!({})),
            Ok(
                &["set cores to \"4\", set tags to \"a\" on vm web (100)", "start vm web (100)"][..],
            ),
        ),
    ] {
        match (lines(&args, &there), expected) {
            (Ok(lines), Ok(expected)) => assert_eq!(lines, expected, "{case}"),
            (Err(error), Err(text)) => assert!(error.contains(text), "{case}: {error}"),
            (got, _) => panic!("{case}: {got:?}"),
        }
    }
}

#[test]
fn a_password_is_written_only_when_asked_and_never_shown() {
    let config = json!({"cipassword": "**********", "ide2": "local:100/vm-100-cloudinit.qcow2"});
    let there = found(guest(&config));
    assert_eq!(lines(&json!({"cipassword": "hunter2"}), &there).unwrap(), [""; 0]);
    let always = json!({"cipassword": "hunter2", "update_password": "always"});
    let lines = lines(&always, &there).unwrap();
    assert_eq!(lines.len(), 1);
    assert!(!lines[0].contains("hunter2"), "{lines:?}");
    assert_eq!(edit(&always, &config).set, pairs(&[("cipassword", "hunter2")]));
}

#[test]
fn b71_a_machine_without_a_disk_gets_it_from_its_image() {
    let args = json!({"image": "local:import/x.qcow2", "scsi": {"scsi0": {"storage": "local", "size": "8G"}}});
    assert_eq!(
        lines(&args, &found(guest(&json!({"ide2": "none,media=cdrom"})))).unwrap(),
        [
            "set scsi0 to \"local:0,import-from=local:import/x.qcow2\" on vm web (100)",
            "grow scsi0 of vm web (100) to 8G",
        ]
    );
    let second = json!({"image": "local:import/x.qcow2", "scsi": {"scsi1": "local:1"}});
    let there = found(guest(&json!({"scsi0": "local:100/a.raw,size=1G"})));
    assert_eq!(lines(&second, &there).unwrap(), ["set scsi1 to \"local:1\" on vm web (100)"]);
}
