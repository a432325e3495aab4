//! What a person may wish for: which guests, what they are called, and what is said of them.

use serde_json::{Value, json};

use crate::fleet::{Fleet, Running, agent, config, foreign, hosts, interface, row, vars};

const MAC: &str = "BC:24:11:AA:BB:01";
const LOW: &str = "bc:24:11:aa:bb:01";

fn fleet() -> Fleet {
    let mut fleet = Fleet::default();
    for (vmid, name, tags, pool, status) in [
        (100, "web-1", "prod;web", "front", "running"),
        (101, "web-2", "test;web", "front", "stopped"),
        (102, "db", "prod", "", "running"),
        (103, "web-1", "", "", "stopped"),
    ] {
        let mut its = row(vmid, name);
        its["tags"] = tags.into();
        its["status"] = status.into();
        if !pool.is_empty() {
            its["pool"] = pool.into();
        }
        let mut its_config = config(MAC);
        its_config["searchdomain"] = "lan.example example.org".into();
        fleet = fleet
            .row(its)
            .data(&format!("/nodes/pve1/qemu/{vmid}/config"), its_config)
            .data(&agent(vmid), json!({"result": [interface("eth0", LOW, "10.0.0.5")]}));
    }
    let container =
        json!({"type": "lxc", "vmid": 200, "node": "pve2", "name": "ct", "status": "stopped"});
    let its =
        json!({"hostname": "ct", "net0": "name=eth0,hwaddr=BC:24:11:10:20:30,ip=10.0.0.8/24"});
    fleet.row(container).data("/nodes/pve2/lxc/200/config", its)
}

fn with(fleet: &Running, text: &str) -> Value {
    fleet.write("pve_inventory.cfg", text);
    fleet.list()
}

#[test]
fn filters_choose_guests_and_save_their_calls() {
    let fleet = fleet().start();
    for (text, guests, calls) in [
        ("", &["ct", "db", "web-1-100", "web-1-103", "web-2"][..], 8),
        ("tags: [prod, test]", &["db", "web-1", "web-2"], 6),
        ("tags: web\nexclude_tags: [test]", &["web-1"], 3),
        ("pools: [front]", &["web-1", "web-2"], 4),
        ("on_nodes: pve2", &["ct"], 2),
        ("kinds: [lxc]", &["ct"], 2),
        ("status: running", &["db", "web-1"], 5),
        ("names: ['web-*', ct]\nexclude_names: ['*-2']", &["ct", "web-1-100", "web-1-103"], 5),
        ("names: nothing", &[], 1),
    ] {
        let before = fleet.calls().len();
        let inventory = with(&fleet, text);
        assert_eq!(hosts(&inventory, "pve_guests"), guests, "{text}");
        let made = fleet.calls().len() - before;
        assert_eq!(made, calls, "{text}: {:?}", &fleet.calls()[before..]);
    }
}

#[test]
fn a_fresh_row_is_filtered_by_its_configuration() {
    let fresh = |vmid: u32| json!({"id": format!("qemu/{vmid}"), "type": "qemu", "vmid": vmid, "node": "pve1", "status": "unknown"});
    let named = |name: &str, tags: &str| {
        let mut its = config(MAC);
        its["name"] = name.into();
        its["tags"] = tags.into();
        its
    };
    let fleet = Fleet::default()
        .row(fresh(100))
        .row(fresh(101))
        .data("/nodes/pve1/qemu/100/config", named("web", "prod"))
        .data("/nodes/pve1/qemu/101/config", named("db", "test"))
        .data("/nodes/pve1/qemu/100/status/current", json!({"status": "stopped"}))
        .data("/nodes/pve1/qemu/101/status/current", json!({"status": "stopped"}))
        .start();
    for text in ["tags: prod", "names: 'w*'", "exclude_tags: test", "exclude_names: db"] {
        assert_eq!(hosts(&with(&fleet, text), "pve_guests"), ["web"], "{text}");
    }
    assert_eq!(hosts(&with(&fleet, "status: running"), "pve_guests"), Vec::<String>::new());
}

#[test]
fn a18_hosts_are_called_as_asked_and_never_two_the_same() {
    let fleet = fleet().start();
    for (pattern, guests) in [
        ("name", ["ct", "db", "web-1-100", "web-1-103", "web-2"]),
        ("name-vmid", ["ct-200", "db-102", "web-1-100", "web-1-103", "web-2-101"]),
        ("vmid", ["100", "101", "102", "103", "200"]),
        (
            "fqdn",
            [
                "ct",
                "db.lan.example",
                "web-1.lan.example-100",
                "web-1.lan.example-103",
                "web-2.lan.example",
            ],
        ),
    ] {
        let inventory = with(&fleet, &format!("hostname: {pattern}\n"));
        assert_eq!(hosts(&inventory, "pve_guests"), guests, "{pattern}");
    }
}

#[test]
fn groups_begin_with_what_is_asked_for() {
    let fleet = fleet().start();
    for (prefix, guests) in [("x_", "x_guests"), ("''", "guests")] {
        let inventory = with(&fleet, &format!("prefix: {prefix}\n"));
        assert_eq!(hosts(&inventory, guests).len(), 5);
        assert!(inventory.as_object().unwrap().keys().all(|name| !name.starts_with("pve_")));
        let start = prefix.trim_matches('\'');
        assert_eq!(hosts(&inventory, &format!("{start}tag_prod")), ["db", "web-1-100"]);
    }
}

#[test]
fn nodes_are_hosts_when_asked_and_no_guests() {
    let status = json!([
        {"type": "cluster", "name": "lab", "quorate": 1},
        {"type": "node", "name": "db", "ip": "10.0.99.2", "online": 0},
        {"type": "node", "name": "pve1", "ip": "10.0.99.1", "online": 1, "local": 1},
    ]);
    let fleet = fleet().data("/cluster/status", status).start();
    assert_eq!(with(&fleet, "").get("pve_nodes"), None);
    let inventory = with(&fleet, "nodes: true");
    // a node's name is its own, and the guest's gets its number
    assert_eq!(hosts(&inventory, "pve_nodes"), ["db", "pve1"]);
    assert!(hosts(&inventory, "pve_guests").contains(&"db-102".to_owned()));
    let pve1 = vars(&inventory, "pve1");
    assert_eq!(
        (&pve1["ansible_host"], &pve1["pve_kind"], &pve1["pve_status"]),
        (&json!("10.0.99.1"), &json!("node"), &json!("online"))
    );
    assert_eq!(vars(&inventory, "db")["pve_status"], "offline");
    let member: Vec<&String> = inventory
        .as_object()
        .unwrap()
        .iter()
        .filter(|(_, group)| group["hosts"].as_array().is_some_and(|h| h.contains(&json!("pve1"))))
        .map(|(name, _)| name)
        .collect();
    assert_eq!(member, ["pve_nodes"]);
    let shown = fleet.run(&["show"]).stdout;
    assert!(shown.contains("node  db    offline  10.0.99.2"), "{shown}");
}

#[test]
fn nodes_without_the_right_to_see_their_addresses_have_none() {
    let fleet =
        fleet().refusal("/cluster/status", 403, "Permission check failed (/, Sys.Audit)").start();
    let inventory = with(&fleet, "nodes: true");
    // the fleet has one list for every type
    assert_eq!(hosts(&inventory, "pve_guests").len(), 5);
    let warning = &inventory["pve_guests"]["vars"]["pve_inventory_warnings"][0];
    let warning = warning["__ansible_unsafe"].as_str().unwrap();
    assert!(warning.contains("lacks Sys.Audit on /"), "{warning}");
    assert!(warning.starts_with("the addresses of the nodes could not be read: "), "{warning}");
}

#[test]
fn high_availability_is_rules_on_9_and_groups_on_8() {
    let managed = |fleet: Fleet| {
        let mut its = row(300, "ha");
        its["hastate"] = "started".into();
        its["status"] = "stopped".into();
        fleet.row(its).data("/nodes/pve1/qemu/300/config", config(MAC))
    };
    let rules = json!([
        {"rule": "near-pve1", "type": "node-affinity", "resources": "vm:300,ct:200", "nodes": "pve1"},
        {"rule": "apart", "type": "resource-affinity", "resources": "vm:300,vm:100", "affinity": "negative"},
        {"rule": "off", "resources": "vm:300", "disable": 1},
    ]);
    let nine = managed(fleet()).data("/cluster/ha/rules", rules).start();
    let inventory = nine.list();
    assert_eq!(hosts(&inventory, "pve_ha_near_pve1"), ["ct", "ha"]);
    assert_eq!(hosts(&inventory, "pve_ha_apart"), ["ha", "web-1-100"]);
    assert_eq!(inventory.get("pve_ha_off"), None);
    let resources = json!([{"sid": "vm:300", "group": "front"}, {"sid": "ct:200"}]);
    let eight = managed(fleet()).data("/cluster/ha/resources", resources).start();
    assert_eq!(hosts(&eight.list(), "pve_ha_front"), ["ha"]);
    let refused = "Permission check failed (/, Sys.Audit)";
    let forbidden = managed(fleet()).refusal("/cluster/ha/rules", 403, refused).start();
    let inventory = forbidden.list();
    assert_eq!(hosts(&inventory, "pve_guests").len(), 6);
    let warnings = inventory["pve_guests"]["vars"]["pve_inventory_warnings"].as_array().unwrap();
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    // who has none of it is not asked
    let none = fleet().start();
    none.list();
    assert!(none.calls().iter().all(|call| !call.contains("/ha/")));
}

#[test]
fn the_user_is_cloud_inits_when_asked() {
    let mut its = config(MAC);
    its["ciuser"] = "debian".into();
    let mut evil = config("BC:24:11:AA:BB:02");
    evil["ciuser"] = "-oProxyCommand=x".into();
    let fleet =
        Fleet::default().vm(100, "web", its, json!([])).vm(101, "db", evil, json!([])).start();
    assert_eq!(vars(&fleet.list(), "web").get("ansible_user"), None);
    fleet.write("guests/web.yml", "kind: vm\ncloud_init: {ciuser: admin}\n");
    let inventory = with(&fleet, "cloud_init_user: true\n");
    assert_eq!(foreign(vars(&inventory, "web"), "ansible_user"), "debian");
    assert_eq!(vars(&inventory, "db").get("ansible_user"), None, "an option is no user");
    let inventory = with(&fleet, "cloud_init_user: true\nguests: guests\n");
    assert_eq!(vars(&inventory, "web")["ansible_user"], "admin", "a spec goes before it");
}

/// A value without the marks of what is foreign.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(map) => match map.get("__ansible_unsafe") {
            Some(text) => text.clone(),
            None => map.iter().map(|(key, value)| (key.clone(), plain(value))).collect(),
        },
        Value::Array(list) => list.iter().map(plain).collect(),
        value => value.clone(),
    }
}

#[test]
fn a34_full_facts_read_each_setting_by_its_own_grammar() {
    let mut its = config(MAC);
    for (key, value) in [
        ("smbios1", json!("uuid=11111111-2222-3333-4444-555555555555,serial=QUJDPT0=,base64=1")),
        ("description", json!("owner=ops")),
        ("args", json!("-cpu host,+aes")),
        ("hookscript", json!("local:snippets/x.pl")),
        ("scsi0", json!("local-lvm:vm-100-disk-0,discard=on,size=8G")),
        ("amd-sev", json!("std,no-debug=1")),
        ("memory", json!("2048")),
        ("cores", json!(2)),
        ("onboot", json!(1)),
        ("tags", json!("b;a")),
        ("nameserver", json!("10.0.0.1 10.0.0.2")),
        ("cipassword", json!("**********")),
        ("boot", json!("order=scsi0;net0")),
    ] {
        its[key] = value;
    }
    let fleet =
        Fleet::default().vm(100, "web", its, json!([interface("eth0", LOW, "10.0.0.5")])).start();
    assert_eq!(vars(&fleet.list(), "web").get("pve_config"), None);
    let inventory = with(&fleet, "facts: full\n");
    let facts = plain(&vars(&inventory, "web")["pve_config"]);
    for (key, expected) in [
        (
            "smbios1",
            json!({"uuid": "11111111-2222-3333-4444-555555555555", "serial": "QUJDPT0=", "base64": "1"}),
        ),
        ("description", json!("owner=ops")),
        ("args", json!("-cpu host,+aes")),
        ("hookscript", json!("local:snippets/x.pl")),
        ("net0", json!({"model": "virtio", "macaddr": MAC, "bridge": "vmbr0"})),
        ("scsi0", json!({"file": "local-lvm:vm-100-disk-0", "discard": "on", "size": "8G"})),
        ("amd_sev", json!({"type": "std", "no_debug": "1"})),
        ("memory", json!({"current": "2048"})),
        ("cores", json!(2)),
        ("onboot", json!(true)),
        ("tags", json!(["a", "b"])),
        ("nameserver", json!(["10.0.0.1", "10.0.0.2"])),
        ("boot", json!({"order": "scsi0;net0"})),
        ("cipassword", Value::Null),
    ] {
        assert_eq!(facts[key], expected, "{key}");
    }
}

#[test]
fn a22_fact_keys_are_identifiers() {
    let mut its = config(MAC);
    its["amd-sev"] = "std,no-debug=1".into();
    its["x y-{{ z }}"] = "odd".into();
    let container =
        json!({"type": "lxc", "vmid": 200, "node": "pve1", "name": "ct", "status": "running"});
    let fleet = Fleet::default()
        .vm(100, "web", its, json!([interface("eth0", LOW, "10.0.0.5")]))
        .row(container)
        .data(
            "/nodes/pve1/lxc/200/config",
            json!({"hostname": "ct", "features": "nesting=1,force_rw_sys=1", "unprivileged": 1,
                   "rootfs": "local:200/a.raw,size=4G", "memory": 512, "description": "a=b,c",
                   "net0": "name=eth0,hwaddr=BC:24:11:10:20:30,ip=dhcp"}),
        )
        .data(
            "/nodes/pve1/lxc/200/interfaces",
            json!([{"name": "eth0", "hwaddr": "bc:24:11:10:20:30", "inet": "10.0.0.9/24"}]),
        )
        .start();
    let inventory = with(&fleet, "facts: full\n");
    for host in ["web", "ct"] {
        let vars = vars(&inventory, host);
        keys(vars, &mut |key| {
            let first = key.chars().next().unwrap();
            assert!(!first.is_ascii_digit(), "{key}");
            assert!(key.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{key}");
        });
    }
    let web = plain(&vars(&inventory, "web")["pve_interfaces"]);
    assert_eq!(web[0]["ip_addresses"][0], "10.0.0.5");
    assert_eq!(web[0]["mac"], MAC);
    let ct = plain(vars(&inventory, "ct"));
    assert_eq!(ct["pve_interfaces"][0]["ip_networks"], json!(["10.0.0.9/24"]));
    assert_eq!(ct["pve_config"]["rootfs"], json!({"volume": "local:200/a.raw", "size": "4G"}));
    assert_eq!(ct["pve_config"]["features"]["nesting"], "1");
    assert_eq!(ct["pve_config"]["unprivileged"], true);
    assert_eq!(ct["pve_config"]["description"], "a=b,c");
}

fn keys(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::Object(map) if map.contains_key("__ansible_unsafe") => {}
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            found(key);
            keys(value, found);
        }),
        Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
        _ => {}
    }
}
