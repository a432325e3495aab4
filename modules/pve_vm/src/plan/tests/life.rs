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
    assert_eq!(creation.pool.as_ref().map(pve_types::PoolId::as_str), Some("p1"));
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
fn b29_only_a_machine_with_cloud_init_is_told_not_to_upgrade() {
    for (args, told) in [
        (json!({}), None),
        (json!({"scsi": {"scsi0": {"storage": "local", "size": "8G"}}}), None),
        (json!({"ciuser": "admin", "cloudinit_storage": "local"}), Some("0")),
        (json!({"ide": {"ide2": "local:cloudinit"}}), Some("0")),
        (json!({"cipassword": "hunter2", "cloudinit_storage": "local"}), Some("0")),
        (
            json!({"image": "local:import/x.qcow2", "scsi": {"scsi0": {"storage": "local"}}}),
            Some("0"),
        ),
        (json!({"ciupgrade": true}), Some("1")),
    ] {
        let plan = plan(&params(&args), &Found::default()).unwrap();
        let Change::Create(creation) = &plan[0] else { panic!("{plan:?}") };
        assert_eq!(creation.config.get("ciupgrade").map(String::as_str), told, "{args}");
    }
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

#[test]
fn what_pve_makes_of_a_creation_is_what_was_asked_for() {
    // both configurations as PVE 9.2.11 gave them after these creations
    let web = (
        json!({
            "name": "web-1", "memory": 128, "cores": 1, "sockets": 1, "ostype": "l26",
            "scsihw": "virtio-scsi-single", "image": "local:import/tiny.qcow2",
            "scsi": {"scsi0": "local:0,discard=on,iothread=1,ssd=1"},
            "ide": {"ide2": "local:cloudinit"},
            "net": {"net0": "virtio,bridge=vmbr0,firewall=1,tag=10"},
            "serial": {"serial0": "socket"}, "vga": "serial0",
            "agent": "enabled=1,fstrim_cloned_disks=1", "ciuser": "admin", "cipassword": "s3cret",
            "sshkeys": "ssh-ed25519 AAAAC3Nz+b/c user@host with space\nssh-rsa AAAAB3 b@c\n",
            "ipconfig": {"ipconfig0": "ip=10.0.99.50/24,gw=10.0.99.1"},
            "nameservers": ["1.1.1.1", "9.9.9.9"], "searchdomains": ["example.com"],
            "description": "line one\nline two: \u{fc}n\u{ef} # hash %41\n",
            "tags": ["web", "Prod", "b_1", "alpha"], "onboot": true, "startup": "order=3,up=10",
            "cpu": "x86-64-v2-AES", "boot": "order=scsi0;ide2", "numa_enabled": false, "tablet": false,
        }),
        json!({
            "numa": "0", "cpu": "x86-64-v2-AES",
            "net0": "virtio=BC:24:11:06:A3:B8,bridge=vmbr0,firewall=1,tag=10",
            "ide2": "local:110/vm-110-cloudinit.qcow2,media=cdrom", "memory": "128",
            "serial0": "socket", "sockets": "1", "cipassword": "**********",
            "ipconfig0": "ip=10.0.99.50/24,gw=10.0.99.1", "startup": "order=3,up=10",
            "tags": "alpha;b_1;prod;web", "onboot": "1",
            "description": "line one\nline two: \u{fc}n\u{ef} # hash %41", "vga": "serial0",
            "scsihw": "virtio-scsi-single", "ciuser": "admin", "nameserver": "1.1.1.1 9.9.9.9",
            "tablet": "0",
            "scsi0": "local:110/vm-110-disk-0.qcow2,discard=on,iothread=1,size=64M,ssd=1",
            "sshkeys": "ssh-ed25519%20AAAAC3Nz%2Bb%2Fc%20user%40host%20with%20space%0Assh-rsa%20AAAAB3%20b%40c%0A",
            "vmgenid": "813d293f-c2db-41a7-bc9a-e4402280947a", "ostype": "l26",
            "agent": "enabled=1,fstrim_cloned_disks=1", "cores": "1",
            "smbios1": "uuid=31b21e6c-a023-494b-8b41-74283c185228", "name": "web-1",
            "meta": "creation-qemu=10.0.13,ctime=1796089544", "searchdomain": "example.com",
            "boot": "order=scsi0;ide2",
        }),
    );
    let uefi = (
        json!({
            "name": "uefi", "bios": "ovmf", "machine": "q35",
            "efidisk0": {"storage": "local", "efitype": "4m", "pre_enrolled_keys": true},
            "tpmstate0": {"storage": "local", "version": "v2.0"},
            "scsi": {"scsi0": {"storage": "local", "size": "1G", "format": "qcow2"}},
            "virtio": {"virtio1": "local:2"},
            "net": {
                "net0": "model=virtio,macaddr=bc:24:11:aa:bb:cc,bridge=vmbr0",
                "net1": {"model": "e1000", "macaddr": "BC:24:11:AA:BB:CD", "bridge": "vmbr1",
                         "mtu": 1400, "rate": 5.5, "queues": 2},
            },
        }),
        json!({
            "boot": "order=scsi0;net0",
            "net1": "e1000=BC:24:11:AA:BB:CD,bridge=vmbr1,mtu=1400,queues=2,rate=5.5",
            "smbios1": "uuid=58a1fd02-86fe-46c1-b016-c2a827756f79", "name": "uefi",
            "machine": "q35", "scsi0": "local:114/vm-114-disk-1.qcow2,size=1G",
            "tpmstate0": "local:114/vm-114-disk-2.raw,size=4M,version=v2.0",
            "efidisk0": "local:114/vm-114-disk-0.raw,efitype=4m,pre-enrolled-keys=1,size=528K",
            "bios": "ovmf", "virtio1": "local:114/vm-114-disk-3.raw,size=2G",
            "net0": "virtio=bc:24:11:aa:bb:cc,bridge=vmbr0",
        }),
    );
    for (args, config) in [web, uefi] {
        assert_eq!(lines(&args, &found(guest(&config))), Ok(vec![]), "{}", args["name"]);
    }
}

#[test]
fn a_hibernated_machine_goes_on_before_it_is_changed() {
    let mut machine = guest(&json!({"cores": "1", "lock": "suspended", "parent": "x"}));
    machine.lock = Some("suspended".into());
    let found = found(machine);
    let refused =
        Err("vm web (100) is hibernated, and PVE changes nothing of it until it goes on: \
                       start it first (state: started)"
            .to_owned());
    let lines = |args: Value| lines(&args, &found);
    assert_eq!(lines(json!({"cores": 2})), refused);
    assert_eq!(lines(json!({"cores": 2, "state": "stopped"})), refused);
    assert_eq!(lines(json!({"state": "template"})), refused);
    assert_eq!(lines(json!({"node": "pve2", "migrate": true, "state": "started"})), refused);
    assert_eq!(
        lines(json!({"cores": 2, "state": "started"})),
        Ok(vec![
            "resume vm web (100)".to_owned(),
            "set cores to \"2\" (was \"1\") on vm web (100)".to_owned(),
        ])
    );
    assert_eq!(lines(json!({"cores": 1, "state": "stopped"})), Ok(vec![]));
    assert!(lines(json!({"state": "absent"})).is_ok());
}
