//! Guest specs: which guest they mean, and what they bring into the inventory.

use serde_json::json;

use crate::fleet::{Fleet, Running, config, hosts, interface, row, vars};

const MAC: &str = "BC:24:11:AA:BB:01";

fn fleet(specs: &[(&str, &str)]) -> Running {
    let stopped = |vmid: u32, name: &str| {
        let mut row = row(vmid, name);
        row["status"] = "stopped".into();
        row
    };
    let mut fleet = Fleet::default().vm(
        100,
        "web1",
        config(MAC),
        json!([interface("eth0", "bc:24:11:aa:bb:01", "10.0.0.5")]),
    );
    for (vmid, name) in [(101, "db"), (102, "db"), (103, "old")] {
        fleet = fleet
            .row(stopped(vmid, name))
            .data(&format!("/nodes/pve1/qemu/{vmid}/config"), config(MAC));
    }
    let mut container = stopped(109, "guest109");
    container["type"] = "lxc".into();
    fleet = fleet.row(container).data("/nodes/pve1/lxc/109/config", json!({"hostname": "x"}));
    let fleet = fleet.start();
    fleet.write("pve_inventory.cfg", "guests: guests\n");
    for (name, text) in specs {
        fleet.write(&format!("guests/{name}"), text);
    }
    fleet
}

#[test]
fn a_spec_makes_its_host_whether_the_guest_exists_or_not() {
    let web = "kind: vm\nvmid: 100\nnode: '{{ guest_node }}'\ngroups: [web]\npackages: [curl]\n\
               archive_snapshot: 20250601T000000Z\ntimezone: Etc/UTC\n\
               cloud_init: {ciuser: debian}\nvars: {web_port: 8080, greeting: '{{ who }}'}\n";
    let inventory = fleet(&[
        ("web1.yml", web),
        ("new.yml", "kind: vm\nvmid: 300\ngroups: [web]\n"),
        ("destroy/old.yml", "kind: vm\nvmid: 103\n"),
        ("destroy/gone.yml", "kind: vm\nvmid: 400\n"),
    ])
    .list();
    for (group, members) in [
        ("pve_specs", &["new", "web1"][..]),
        ("pve_managed", &["web1"]),
        ("pve_destroy", &["gone", "old"]),
        ("web", &["new", "web1"]),
        ("pve_guests", &["db-101", "db-102", "guest109", "old", "web1"]),
    ] {
        assert_eq!(hosts(&inventory, group), members, "{group}");
    }
    let web = vars(&inventory, "web1");
    assert_eq!(web["ansible_host"], "10.0.0.5");
    assert_eq!(web["ansible_user"], "debian");
    assert_eq!(web["base_packages"], json!(["curl"]));
    assert_eq!(web["base_archive_snapshot"], "20250601T000000Z");
    assert_eq!(web["base_timezone"], "Etc/UTC");
    assert_eq!(web["web_port"], 8080);
    // the operator's own words stay templates
    assert_eq!(web["greeting"], "{{ who }}");
    assert_eq!(web["pve_spec"]["node"], "{{ guest_node }}");
    let new = vars(&inventory, "new");
    assert_eq!((&new["pve_vmid"], new.get("ansible_host")), (&json!(300), None));
    assert_eq!(new["pve_api_host"], "127.0.0.1");
    assert_eq!(new["pve_api_token_id"], "ansible@pve!ci");
    assert_eq!(new.get("pve_api_token_secret_file"), None);
    assert_eq!(vars(&inventory, "old")["pve_vmid"], 103);
    assert_eq!(vars(&inventory, "gone")["pve_vmid"], 400);
}

#[test]
fn groups_are_there_before_any_guest() {
    let inventory = Fleet::default().start().list();
    for group in ["pve_guests", "pve_specs", "pve_managed", "pve_destroy", "pve_address_missing"] {
        assert_eq!(inventory[group], json!({"hosts": []}), "{group}");
    }
}

#[test]
fn a_spec_that_does_not_fit_is_an_error_that_names_both() {
    for (name, text, sentence) in [
        (
            "other.yml",
            "kind: vm\nvmid: 100\n",
            "other.yml says vmid 100, and guest 100 is called 'web1', not 'other'",
        ),
        (
            "db.yml",
            "kind: vm\n",
            "db.yml could mean any of the guests 101, 102, which are all called 'db': give its vmid",
        ),
        (
            "guest109.yml",
            "kind: vm\n",
            "guest109.yml says vm, guest 109 (guest109) is a container: ",
        ),
        (
            "web1.yml",
            "kind: vm\nhardware: {memroy: 1}\n",
            "web1.yml: unknown key 'hardware.memroy'; allowed are ",
        ),
        (
            "web1.yml",
            "kind: vm\nvmid: 0300\n",
            "web1.yml: vmid: '0300' begins with a zero; allowed are numbers from 100",
        ),
        ("web1.yml", "kind: vm\nkind: vm\n", "web1.yml: duplicate entry with key \"kind\""),
    ] {
        let fleet = fleet(&[(name, text)]);
        let run = fleet.run(&["--list"]);
        assert_eq!((run.status, run.stdout.as_str()), (Some(1), ""), "{run:?}");
        assert!(run.stderr.contains(sentence), "{run:?}");
        assert_eq!(run.stderr.lines().count(), 1, "{run:?}");
    }
}

#[test]
fn a_spec_by_name_takes_the_name_from_no_one_else() {
    let inventory = fleet(&[("db.yml", "kind: vm\nvmid: 102\n")]).list();
    assert_eq!(hosts(&inventory, "pve_managed"), ["db"]);
    assert_eq!(vars(&inventory, "db")["pve_vmid"], 102);
    assert_eq!(vars(&inventory, "db-101")["pve_vmid"], 101);
}

#[test]
fn a_managed_guest_that_was_just_started_is_seen_running() {
    // the list is up to 10 s old, and provisioning reads the inventory again at once
    let mut row = row(100, "web");
    row["status"] = "stopped".into();
    let fleet = Fleet::default()
        .row(row)
        .data("/nodes/pve1/qemu/100/config", config(MAC))
        .data("/nodes/pve1/qemu/100/status/current", json!({"status": "running"}))
        .data(
            &crate::fleet::agent(100),
            json!({"result": [interface("eth0", "bc:24:11:aa:bb:01", "10.0.0.5")]}),
        )
        .start();
    assert_eq!(vars(&fleet.list(), "web").get("ansible_host"), None, "nobody's guest is not asked");
    fleet.write("pve_inventory.cfg", "guests: guests\n");
    fleet.write("guests/web.yml", "kind: vm\n");
    let inventory = fleet.list();
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    assert_eq!(hosts(&inventory, "pve_status_running"), ["web"]);
}
