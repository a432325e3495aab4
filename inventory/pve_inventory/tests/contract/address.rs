//! Which address a guest gets, and what is asked to find it.

use std::time::{Duration, Instant};

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
fn a17_only_a_running_guest_with_an_agent_is_asked() {
    let mut off = config(MAC);
    off["agent"] = "enabled=0,fstrim_cloned_disks=1".into();
    let mut late = config(MAC);
    late["agent"] = "fstrim_cloned_disks=1,enabled=1".into();
    let stopped =
        json!({"type": "qemu", "vmid": 101, "node": "pve1", "name": "db", "status": "stopped"});
    let template = json!({"type": "qemu", "vmid": 102, "node": "pve1", "name": "base", "status": "stopped", "template": 1});
    let fleet = Fleet::default()
        .vm(100, "web", late, json!([interface("eth0", LOW, "10.0.0.5")]))
        .row(stopped)
        .data("/nodes/pve1/qemu/101/config", config(MAC))
        .row(template)
        .vm(103, "quiet", off, json!([]))
        .start();
    let inventory = fleet.list();
    let mut calls = fleet.calls();
    calls.sort();
    let config = |vmid: u32| format!("/nodes/pve1/qemu/{vmid}/config?current=1");
    assert_eq!(
        calls,
        [
            "/cluster/resources?type=vm".to_owned(),
            agent(100),
            config(100),
            config(101),
            config(103)
        ]
    );
    assert_eq!(hosts(&inventory, "pve_guests"), ["db", "quiet", "web"]);
    assert_eq!(vars(&inventory, "db")["pve_address_reason_kind"], "not_running");
    assert_eq!(vars(&inventory, "quiet")["pve_address_reason_kind"], "agent_off");
}

#[test]
fn a19_a_node_that_is_down_takes_only_its_own_guests() {
    let lost = json!({"id": "qemu/1002", "type": "qemu", "vmid": 1002, "node": "pve2", "status": "unknown"});
    let inventory = Fleet::default()
        .vm(100, "web", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")]))
        .row(lost)
        .refusal("/nodes/pve2/qemu/1002/config", 595, "No route to host")
        .start()
        .list();
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    let lost = vars(&inventory, "qemu-1002");
    assert_eq!(lost["pve_name"], Value::Null);
    let reason = foreign(lost, "pve_address_reason");
    assert!(reason.starts_with("node pve2 does not answer: "), "{reason}");
    assert!(reason.contains("595 No route to host"), "{reason}");
    assert_eq!(hosts(&inventory, "pve_status_unknown"), ["qemu-1002"]);
}

#[test]
fn a20_only_one_is_a_template() {
    let mut fleet = Fleet::default();
    for (vmid, template) in [(100, json!("")), (101, Value::Null), (102, json!(0)), (103, json!(1))]
    {
        let mut its = row(vmid, &format!("g{vmid}"));
        its["template"] = template;
        its["status"] = "stopped".into();
        fleet = fleet.row(its).data(&format!("/nodes/pve1/qemu/{vmid}/config"), config(MAC));
    }
    let fleet = fleet.start();
    assert_eq!(hosts(&fleet.list(), "pve_guests"), ["g100", "g101", "g102"]);
    fleet.write("pve_inventory.cfg", "templates: true\n");
    let inventory = fleet.list();
    assert_eq!(hosts(&inventory, "pve_guests"), ["g100", "g101", "g102", "g103"]);
    assert_eq!(vars(&inventory, "g103")["pve_address_reason_kind"], "template");
}

#[test]
fn a_fresh_row_is_read_from_its_configuration() {
    let fresh =
        json!({"id": "qemu/100", "type": "qemu", "vmid": 100, "node": "pve1", "status": "unknown"});
    let fresh_template =
        json!({"id": "qemu/101", "type": "qemu", "vmid": 101, "node": "pve1", "status": "unknown"});
    let mut its = config(MAC);
    its["name"] = "web".into();
    its["tags"] = "prod;web".into();
    let mut template = config(MAC);
    template["template"] = 1.into();
    let inventory = Fleet::default()
        .row(fresh)
        .row(fresh_template)
        .data("/nodes/pve1/qemu/100/config", its)
        .data("/nodes/pve1/qemu/101/config", template)
        .data("/nodes/pve1/qemu/100/status/current", json!({"status": "running", "vmid": 100}))
        .data(&agent(100), json!({"result": [interface("eth0", LOW, "10.0.0.5")]}))
        .start()
        .list();
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    assert_eq!(hosts(&inventory, "pve_status_running"), ["web"]);
    assert_eq!(hosts(&inventory, "pve_tag_prod"), ["web"]);
    assert_eq!(hosts(&inventory, "pve_guests"), ["web"]);
}

fn container(net0: &str) -> Fleet {
    let row =
        json!({"type": "lxc", "vmid": 200, "node": "pve1", "name": "ct", "status": "running"});
    Fleet::default().row(row).data(
        "/nodes/pve1/lxc/200/config",
        json!({"hostname": "ct", "ostype": "debian", "net0": net0}),
    )
}

#[test]
fn a23_a_container_is_found_by_its_interfaces() {
    let fleet = container("name=eth0,bridge=vmbr0,hwaddr=BC:24:11:10:20:30,ip=dhcp,type=veth")
        .data(
            "/nodes/pve1/lxc/200/interfaces",
            json!([
                {"name": "lo", "hwaddr": "00:00:00:00:00:00", "inet": "127.0.0.1/8"},
                {"name": "docker0", "hwaddr": "02:42:00:00:00:01", "inet": "172.17.0.1/16"},
                {"name": "eth0", "hwaddr": "bc:24:11:10:20:30", "inet": "192.168.0.224/24",
                 "inet6": "fe80::be24:11ff:fe10:2030/64"},
            ]),
        );
    let inventory = fleet.start().list();
    let ct = vars(&inventory, "ct");
    assert_eq!(ct["ansible_host"], "192.168.0.224");
    assert_eq!(ct["pve_address_source"], "interfaces");
    assert_eq!(ct["pve_kind"], "lxc");
    assert_eq!(ct["pve_host_key_alias"], "pve-lxc-200");
    assert_eq!(hosts(&inventory, "pve_lxc"), ["ct"]);
    assert_eq!(hosts(&inventory, "pve_ostype_debian"), ["ct"]);
}

#[test]
fn a24_an_older_node_leaves_what_is_configured() {
    for (ip, address) in [("10.0.0.8/24", json!("10.0.0.8")), ("dhcp", Value::Null)] {
        let inventory =
            container(&format!("name=eth0,hwaddr=BC:24:11:10:20:30,ip={ip}")).start().list();
        let ct = vars(&inventory, "ct");
        assert_eq!(ct["pve_address"], address);
        assert_eq!(ct["pve_address_reason_kind"], "unsupported");
        assert_eq!(
            foreign(ct, "pve_address_reason"),
            "node pve1 cannot say (PVE 8.1 and later can)"
        );
    }
}

#[test]
fn a25_a_first_link_local_address_is_no_address() {
    let inventory = container("name=eth0,hwaddr=BC:24:11:10:20:30,ip=dhcp")
        .data(
            "/nodes/pve1/lxc/200/interfaces",
            json!([{"name": "eth0", "hwaddr": "bc:24:11:10:20:30", "inet6": "fe80::1/64"}]),
        )
        .start()
        .list();
    assert_eq!(vars(&inventory, "ct")["pve_address_reason_kind"], "no_address");
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
fn a36_one_guest_that_cannot_be_read_is_one_reason() {
    let stopped =
        json!({"type": "qemu", "vmid": 102, "node": "pve1", "name": "c", "status": "stopped"});
    let inventory = Fleet::default()
        .vm(100, "a", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")]))
        .vm(101, "b", config(MAC), json!([]))
        .data(&agent(101), json!("nonsense"))
        .row(stopped)
        .refusal("/nodes/pve1/qemu/102/config", 403, "Permission check failed (/vms/102, VM.Audit)")
        .start()
        .list();
    assert_eq!(vars(&inventory, "a")["ansible_host"], "10.0.0.5");
    assert_eq!(hosts(&inventory, "pve_address_missing"), ["b", "c"]);
    let reason = foreign(vars(&inventory, "c"), "pve_address_reason").to_owned();
    assert!(reason.contains("lacks VM.Audit on /vms/102"), "{reason}");
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
fn a41_pools_need_no_call_of_their_own() {
    let mut its = row(100, "web");
    its["pool"] = "a pool/x".into();
    its["status"] = "stopped".into();
    let fleet = Fleet::default().row(its).data("/nodes/pve1/qemu/100/config", config(MAC)).start();
    let inventory = fleet.list();
    assert_eq!(hosts(&inventory, "pve_pool_a_pool_x"), ["web"]);
    assert!(fleet.calls().iter().all(|call| !call.contains("/pools")));
}

#[test]
fn b53_a_guest_that_moved_is_looked_up_once_more() {
    // the list says pve1, and by now it is nowhere: it was removed while we read
    let gone = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist";
    let fleet = Fleet::default()
        .row(row(100, "web"))
        .refusal("/nodes/pve1/qemu/100/config", 500, gone)
        .start();
    let inventory = fleet.list();
    assert_eq!(hosts(&inventory, "pve_guests"), Vec::<String>::new());
    assert_eq!(
        inventory["pve_guests"]["vars"]["pve_inventory_warnings"][0]["__ansible_unsafe"],
        "vm 100 is in the cluster's list, and node pve1 does not have it"
    );
    let lists = fleet.calls().iter().filter(|call| call.starts_with("/cluster")).count();
    assert_eq!(lists, 2);
}

#[test]
fn silent_agents_cost_one_deadline_and_not_their_sum() {
    let mut fleet = Fleet::default();
    for vmid in 100..106 {
        fleet = fleet.vm(vmid, &format!("g{vmid}"), config(MAC), json!([])).silence(&agent(vmid));
    }
    let fleet =
        fleet.vm(200, "web", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")])).start();
    fleet.write("pve_inventory.cfg", "agent_timeout: 1\n");
    let started = Instant::now();
    let inventory = fleet.list();
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    assert_eq!(vars(&inventory, "web")["ansible_host"], "10.0.0.5");
    assert_eq!(
        foreign(vars(&inventory, "g100"), "pve_address_reason"),
        "its agent did not answer within 1 s (agent_timeout)"
    );
    assert_eq!(hosts(&inventory, "pve_address_missing").len(), 6);
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
fn a35_one_listing_with_a_time_limit_that_large_clusters_need() {
    let mut fleet = Fleet::default();
    for vmid in 100..150 {
        let mut its = row(vmid, &format!("g{vmid}"));
        its["node"] = format!("pve{}", vmid % 5).into();
        its["status"] = "stopped".into();
        fleet =
            fleet.row(its).data(&format!("/nodes/pve{}/qemu/{vmid}/config", vmid % 5), config(MAC));
    }
    let fleet = fleet.start();
    assert_eq!(hosts(&fleet.list(), "pve_guests").len(), 50);
    assert_eq!(fleet.calls().len(), 51);
    let limit = fleet.run(&["config"]).stdout;
    let limit = limit.lines().find(|line| line.starts_with("timeout")).unwrap();
    assert!(limit.split_whitespace().nth(1).unwrap().parse::<u32>().unwrap() > 9, "{limit}");
    let connections: std::collections::BTreeSet<usize> =
        fleet.seen().iter().map(|seen| seen.connection).collect();
    assert!(connections.len() <= 8, "connections are reused: {connections:?}");
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
