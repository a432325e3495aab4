//! Which address a guest gets, and what is asked to find it.

use serde_json::{Value, json};

use crate::fleet::{Fleet, agent, config, foreign, hosts, interface, row, vars};

const MAC: &str = "BC:24:11:AA:BB:01";
const LOW: &str = "bc:24:11:aa:bb:01";

#[test]
fn a01_a_bridge_inside_the_guest_is_never_its_address() {
    let lo = interface("lo", "00:00:00:00:00:00", "127.0.0.1");
    let docker = interface("docker0", "02:42:aa:bb:cc:dd", "172.17.0.1");
    let eth = interface("eth0", LOW, "10.0.0.5");
    for order in [[&lo, &docker, &eth], [&docker, &lo, &eth], [&eth, &docker, &lo]] {
        let fleet = Fleet::default().vm(100, "web", config(MAC), json!(order)).start();
        let inventory = fleet.list();
        let web = vars(&inventory, "web");
        assert_eq!(web["ansible_host"], "10.0.0.5");
        assert_eq!(web["pve_address"], "10.0.0.5");
        assert_eq!(web["pve_address_source"], "agent");
        assert_eq!(web["pve_address_reason"], Value::Null);
        assert_eq!(web["pve_host_key_alias"], "pve-11111111-2222-3333-4444-555555555555");
    }
}

#[test]
fn a04_a_guest_without_an_address_stays_with_its_reason() {
    let interfaces = json!([
        {"name": "eth0", "hardware-address": LOW, "ip-addresses":
            [{"ip-address": "fe80::1", "ip-address-type": "ipv6", "prefix": 64}]},
        interface("docker0", "02:42:aa:bb:cc:dd", "172.17.0.1"),
    ]);
    let inventory = Fleet::default().vm(100, "web", config(MAC), interfaces).start().list();
    let web = vars(&inventory, "web");
    assert_eq!(web.get("ansible_host"), None);
    assert_eq!(web["pve_address"], Value::Null);
    assert_eq!(foreign(web, "pve_address_reason"), "net0 has no usable address yet");
    assert_eq!(web["pve_address_reason_kind"], "no_address");
    assert_eq!(hosts(&inventory, "pve_address_missing"), ["web"]);
}

#[test]
fn a14_a_silent_agent_leaves_what_is_configured() {
    for (ipconfig, address) in
        [("ip=10.0.0.7/24,gw=10.0.0.1", json!("10.0.0.7")), ("ip=dhcp", Value::Null)]
    {
        let mut its = config(MAC);
        its["ipconfig0"] = ipconfig.into();
        let inventory = Fleet::default()
            .vm(100, "web", its, json!([]))
            .refusal(&agent(100), 500, "QEMU guest agent is not running")
            .start()
            .list();
        let web = vars(&inventory, "web");
        assert_eq!(web["pve_address"], address);
        assert_eq!(web["ansible_host"], address);
        let source = if address.is_null() { Value::Null } else { "configured".into() };
        assert_eq!(web["pve_address_source"], source);
        assert!(foreign(web, "pve_address_reason").starts_with("its agent does not answer"));
        assert_eq!(web["pve_address_reason_kind"], "agent_silent");
    }
}

#[test]
fn a32_a_missing_privilege_is_named() {
    let inventory = Fleet::default()
        .vm(100, "web", config(MAC), json!([]))
        .refusal(&agent(100), 403, "Permission check failed (/vms/100, VM.GuestAgent.Audit)")
        .start()
        .list();
    let web = vars(&inventory, "web");
    assert_eq!(web["pve_address_reason_kind"], "forbidden");
    let reason = foreign(web, "pve_address_reason");
    assert!(reason.contains("lacks VM.GuestAgent.Audit on /vms/100"), "{reason}");
}

#[test]
fn a37_the_running_configuration_decides() {
    let inventory = Fleet::default()
        .vm(100, "web", config("BC:24:11:AA:BB:99"), json!([interface("eth0", LOW, "10.0.0.31")]))
        .data("/nodes/pve1/qemu/100/config?current=1", config(MAC))
        .start()
        .list();
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.31");
}

#[test]
fn a38_two_nics_with_one_mac_are_no_address() {
    let mut its = config(MAC);
    its["net1"] = format!("virtio={MAC},bridge=vmbr1").into();
    let interfaces =
        json!([interface("ens18", LOW, "10.0.0.40"), interface("ens19", LOW, "172.27.0.40")]);
    let inventory = Fleet::default().vm(100, "web", its, interfaces).start().list();
    let web = vars(&inventory, "web");
    assert_eq!(web.get("ansible_host"), None);
    assert_eq!(web["pve_address_reason_kind"], "ambiguous");
}

#[test]
fn a18_guests_of_one_name_keep_their_own_facts() {
    let inventory = Fleet::default()
        .vm(100, "web", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")]))
        .vm(101, "web", config("BC:24:11:AA:BB:02"), json!([]))
        .start()
        .list();
    assert_eq!(hosts(&inventory, "pve_guests"), ["web-100", "web-101"]);
    assert_eq!(vars(&inventory, "web-100")["ansible_host"], "10.0.0.5");
    assert_eq!(vars(&inventory, "web-101").get("ansible_host"), None);
    assert_eq!(vars(&inventory, "web-101")["pve_vmid"], 101);
}

#[test]
fn a33_tags_are_a_list_and_groups() {
    let mut its = row(100, "web");
    its["tags"] = " prod ; b-1".into();
    let inventory = Fleet::default()
        .row(its)
        .data("/nodes/pve1/qemu/100/config", config(MAC))
        .data(&agent(100), json!({"result": []}))
        .start()
        .list();
    let tags = &vars(&inventory, "web")["pve_tags"];
    assert_eq!(*tags, json!([{"__ansible_unsafe": "b-1"}, {"__ansible_unsafe": "prod"}]));
    let hosts_of = |group| hosts(&inventory, group);
    assert_eq!(hosts_of("pve_tag_prod"), ["web"]);
    assert_eq!(hosts_of("pve_tag_b_1"), ["web"]);
}

#[test]
fn a34_values_with_equals_signs_stay_whole() {
    let mut its = config(MAC);
    its["smbios1"] = "serial=QUJDPT0=,base64=1,uuid=AAAAAAAA-2222-3333-4444-555555555555".into();
    its["description"] = "owner=ops".into();
    its["args"] = "-cpu host,+aes".into();
    let inventory = Fleet::default().vm(100, "web", its, json!([])).start().list();
    assert_eq!(
        vars(&inventory, "web")["pve_host_key_alias"],
        "pve-aaaaaaaa-2222-3333-4444-555555555555"
    );
}

#[test]
fn explain_and_show_say_how_it_came_about() {
    let interfaces = json!([
        interface("docker0", "02:42:aa:bb:cc:dd", "172.17.0.1"),
        interface("eth0", LOW, "10.0.0.5"),
    ]);
    let fleet = Fleet::default()
        .vm(100, "web", config(MAC), interfaces)
        .vm(101, "db", config("BC:24:11:AA:BB:02"), json!([]))
        .refusal(&agent(101), 500, "QEMU guest agent is not running")
        .start();
    let explained = fleet.run(&["explain", "web"]);
    assert_eq!(explained.status, Some(0), "{explained:?}");
    for line in [
        "web: vm 100 (web) on pve1, running",
        "NIC net0 (decides): virtio=BC:24:11:AA:BB:01,bridge=vmbr0",
        "same MAC address: eth0",
        "not taken: docker0: has another MAC address",
        "address: 10.0.0.5 (agent)",
    ] {
        assert!(explained.stdout.contains(line), "{line}\n{}", explained.stdout);
    }
    let shown = fleet.run(&["show"]);
    let rows: Vec<&str> = shown.stdout.lines().collect();
    assert!(rows[0].starts_with("HOST"), "{shown:?}");
    assert!(rows[1].starts_with("web   100   qemu  pve1  running  10.0.0.5  agent"), "{shown:?}");
    assert!(rows[2].contains("its agent does not answer"), "{shown:?}");
    let missing = fleet.run(&["explain", "nobody"]);
    assert_eq!(missing.stderr, "pve_inventory: no guest is called 'nobody' or has that vmid\n");
}
