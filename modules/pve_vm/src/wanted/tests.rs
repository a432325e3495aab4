use super::*;
use crate::tests::params;
use serde_json::json;

#[test]
fn settings_become_pves_keys() {
    let params = params(&json!({
        "memory": 2048,
        "onboot": true,
        "cpulimit": 1.5,
        "tags": ["web", "Prod"],
        "nameservers": ["1.1.1.1", "9.9.9.9"],
        "numa_enabled": false,
        "agent": true,
        "boot": {"order": ["scsi0", "net0"]},
        "sshkeys": "ssh-ed25519 AAAA+b/c= me@host:1\n",
        "net": {"net0": "virtio,bridge=vmbr0", "net1": null},
        "scsi": {"scsi0": {"storage": "local", "import_from": "local:import/x.qcow2", "discard": true}},
        "description": "",
        "startup": {"order": null},
        "delete": ["vga"],
    }));
    let wanted = wanted(&params).unwrap();
    let options = |pairs: &[(&str, &str)]| {
        Want::Options(pairs.iter().map(|(k, v)| ((*k).to_owned(), Some((*v).to_owned()))).collect())
    };
    let text = |text: &str| Want::Text(text.to_owned());
    for (key, want) in [
        ("memory", options(&[("current", "2048")])),
        ("onboot", text("1")),
        ("cpulimit", text("1.5")),
        ("tags", text("prod;web")),
        ("nameserver", text("1.1.1.1 9.9.9.9")),
        ("numa", text("0")),
        ("agent", options(&[("enabled", "1")])),
        ("boot", options(&[("order", "scsi0;net0")])),
        ("sshkeys", text("ssh-ed25519%20AAAA%2Bb%2Fc%3D%20me%40host%3A1")),
        ("net0", options(&[("model", "virtio"), ("bridge", "vmbr0")])),
        ("net1", Want::Remove),
        (
            "scsi0",
            options(&[
                ("storage", "local"),
                ("import-from", "local:import/x.qcow2"),
                ("discard", "on"),
            ]),
        ),
        ("description", Want::Remove),
        ("vga", Want::Remove),
        ("startup", Want::Remove),
    ] {
        assert_eq!(wanted.get(key), Some(&want), "{key}");
    }
    assert_eq!(wanted.len(), 15);
}

#[test]
fn interfaces_however_they_are_written() {
    for net in [
        json!("virtio=BC:24:11:00:00:01,bridge=vmbr0"),
        json!({"model": "virtio=BC:24:11:00:00:01", "bridge": "vmbr0"}),
        json!({"virtio": "BC:24:11:00:00:01", "bridge": "vmbr0"}),
        json!({"model": "virtio", "macaddr": "BC:24:11:00:00:01", "bridge": "vmbr0"}),
    ] {
        let wanted = wanted(&params(&json!({"net": {"net0": net.clone()}}))).unwrap();
        let Some(Want::Options(options)) = wanted.get("net0") else { panic!("{net}") };
        let told: Vec<&str> = options.values().flatten().map(String::as_str).collect();
        assert_eq!(told, ["vmbr0", "BC:24:11:00:00:01", "virtio"], "{net}");
    }
}

#[test]
fn flags_however_they_are_written() {
    for (given, written) in
        [(json!("no"), "0"), (json!("True"), "1"), (json!(0), "0"), (json!(true), "1")]
    {
        let args = json!({"config": {"allow-ksm": given.clone()}});
        let wanted = wanted(&params(&args)).unwrap();
        assert_eq!(wanted.get("allow-ksm"), Some(&Want::Text(written.into())), "{given}");
    }
}

#[test]
fn what_is_wrong_is_named() {
    for (args, text) in [
        (json!({"net": {"eth0": "virtio"}}), "net: 'eth0' is not one of net0 to net31"),
        (json!({"scsi": {"scsi31": "local:1"}}), "'scsi31' is not one of scsi0 to scsi30"),
        (json!({"tags": ["we/b"]}), "tags: 'we/b' is not a tag"),
        (json!({"sshkeys": "/root/.ssh/id_rsa.pub"}), "sshkeys: '/root/.ssh/id_rsa.pub' is not"),
        (json!({"description": "x".repeat(8193)}), "description: 8193 bytes are more"),
        (json!({"delete": ["cores"], "cores": 1}), "delete: 'cores' is set by this task"),
        (json!({"delete": ["name"]}), "delete: 'name' cannot be taken away"),
        (
            json!({"config": {"lock": "backup"}}),
            "config: 'lock' cannot be set here: a lock belongs",
        ),
        (json!({"config": {"cipassword": "x"}}), "has the option cipassword, which hides it"),
        (json!({"config": {"digest": "x"}}), "is a parameter of PVE's call and no setting"),
        (json!({"config": {"allow-ksm": "maybe"}}), "allow-ksm: 'maybe' is neither true nor"),
        (json!({"config": {"Cores": 1}}), "config: 'Cores' cannot be set here: PVE's keys are"),
        (json!({"config": {"cores": 1}, "cores": 1}), "config: 'cores' is set by an option"),
        (json!({"config": {"args": {"a": 1}}}), "args: a text is wanted, not a mapping"),
        (json!({"usb": {"usb14": "spice"}}), "usb: 'usb14' is not one of usb0 to usb13"),
        (json!({"startup": "ordr=1"}), "startup: unknown key 'ordr'; allowed are order, up, down"),
        (
            json!({"startup": {"ordr": 1}}),
            "startup: unknown key 'ordr'; allowed are order, up, down",
        ),
        (json!({"agent": "enabld=1"}), "agent: unknown key 'enabld'; allowed are enabled, freeze"),
        (
            json!({"net": {"net0": {"bridge": "vmbr0", "mack": 1}}}),
            "net0: unknown key 'mack'; allowed are model, macaddr, bridge, firewall",
        ),
        (json!({"net": {"net0": "virtio,brige=vmbr0"}}), "net0: unknown key 'brige'; allowed are"),
        (json!({"net": {"net0": {"vlan": 3}}}), "net0: unknown key 'vlan'; allowed are"),
        (json!({"net": {"net0": {"model": "virtioo"}}}), "net0: model 'virtioo' is not one of"),
        (json!({"net": {"net0": "virtioo,bridge=vmbr0"}}), "net0: model 'virtioo' is not one of"),
        (
            json!({"net": {"net0": {"virtio": "BC:24:11:00:00:01", "model": "e1000"}}}),
            "given twice",
        ),
        (json!({"scsi": {"scsi0": "local:1,cachee=none"}}), "scsi0: unknown key 'cachee'"),
        (
            json!({"scsi": {"scsi0": {"storage": "local", "sizze": "1G"}}}),
            "scsi0: unknown key 'sizze'; allowed are storage, iothread",
        ),
        (json!({"scsi": {"scsi0": {"cache": "non"}}}), "scsi0: cache 'non' is not one of none,"),
        (
            json!({"net": {"net0": {"bridge": "vmbr0,tag=5"}}}),
            "net0: bridge 'vmbr0,tag=5' has a comma in it, which a property string cannot hold",
        ),
        (json!({"net": {"net0": {"tag": ""}}}), "net0: tag has no value: give one, or null"),
        (json!({"boot": {"order": []}}), "boot: order has no value: give one, or null"),
        (json!({"numa": {"numa0": "memory=512"}}), "numa0: cpus is missing, and a NUMA node needs"),
        (json!({"ivshmem": {"name": "a"}}), "ivshmem: size is missing, and a shared memory needs"),
        (json!({"virtiofs": {"virtiofs0": {"cache": "auto"}}}), "virtiofs0: dirid is missing"),
        (json!({"vmgenid": "abc"}), "vmgenid: 'abc' is not of the form: a UUID, 1 for a new one"),
        (json!({"boot": "ordr=scsi0"}), "boot: unknown key 'ordr'; allowed are order, legacy"),
        (json!({"cpu": "host,flaggs=+aes"}), "cpu: unknown key 'flaggs'; allowed are cputype"),
        (json!({"vga": {"mem": 1}}), "vga: unknown key 'mem'; allowed are type, memory"),
        (json!({"watchdog": "i6300"}), "watchdog: model 'i6300' is not one of i6300esb, ib700"),
        (json!({"smbios": {"serail": "x"}}), "smbios1: unknown key 'serail'; allowed are base64"),
        (json!({"rng0": {"src": "x"}}), "rng0: unknown key 'src'; allowed are source"),
        (json!({"numa": {"numa0": {"cpu": "0"}}}), "numa0: unknown key 'cpu'; allowed are cpus"),
        (json!({"audio": {"audio0": {"device": "ac97"}}}), "audio0: device 'ac97' is not one of"),
        (
            json!({"ipconfig": {"ipconfig0": "ip=dhcp,gatway=10.0.0.1"}}),
            "ipconfig0: unknown key 'gatway'; allowed are ip, gw, ip6, gw6",
        ),
        (json!({"hotplug": "network,dsk"}), "hotplug: 'dsk' is not one of network, disk, cpu"),
        (json!({"hugepages": "4"}), "hugepages: '4' is not one of any, 2, 1024"),
        (json!({"config": {"foo": "bar"}}), "config: unknown key 'foo'; allowed are acpi,"),
        (json!({"config": {"net0": "brige=x"}}), "net0: unknown key 'brige'; allowed are"),
        (json!({"delete": ["foo"]}), "delete: unknown key 'foo'; allowed are acpi,"),
        (json!({"revert": ["foo"]}), "revert: unknown key 'foo'; allowed are acpi,"),
    ] {
        let error = wanted(&params(&args)).unwrap_err();
        assert!(error.message().contains(text), "{}", error.message());
    }
}

/// Keys of PVE's call that are no settings of a machine, or that options outside of the settings
/// stand for.
const NO_SETTINGS: [&str; 13] = [
    "background_delay",
    "cipassword",
    "delete",
    "digest",
    "force",
    "import-working-storage",
    "lock",
    "name",
    "node",
    "revert",
    "skiplock",
    "template",
    "vmid",
];

#[test]
fn every_setting_of_pve_can_be_set() {
    let settings = serde_json::to_value(crate::settings::Settings::default()).unwrap();
    for list in [
        include_str!("../../tests/fixtures/config-keys-8.4.txt"),
        include_str!("../../tests/fixtures/config-keys-9.2.txt"),
    ] {
        let mut without_option = Vec::new();
        for key in list.lines().filter(|key| !NO_SETTINGS.contains(key)) {
            // `scsi[n]` stands for a family
            let (option, key) = match key.strip_suffix("[n]") {
                Some(family) => (family, format!("{family}0")),
                None => (key, key.to_owned()),
            };
            let args = json!({"config": {key.clone(): null}});
            let ours = if key == "cdrom" { "ide2" } else { key.as_str() };
            assert!(wanted(&params(&args)).unwrap().contains_key(ours), "{key}");
            let option =
                RENAMED.iter().find(|(_, its)| *its == key).map_or(option, |(ours, _)| ours);
            let family = slot(&key).map_or("", |(family, _)| family);
            if settings.get(option).is_none() && settings.get(family).is_none() {
                without_option.push(key);
            }
        }
        without_option.retain(|key| !matches!(key.as_str(), "allow-ksm" | "intel-tdx"));
        assert_eq!(without_option, ["cdrom", "smp"], "old forms of ide2 and sockets");
    }
}
