//! What is asked, how often, and what becomes of the rest when one answer is missing.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::fleet::{Fleet, agent, config, foreign, hosts, interface, row, vars};

const MAC: &str = "BC:24:11:AA:BB:01";
const LOW: &str = "bc:24:11:aa:bb:01";

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
fn b53_a_guest_that_moves_is_looked_up_once_more() {
    let gone = "Configuration file 'nodes/pve1/qemu-server/100.conf' does not exist";
    let path = "/nodes/pve1/qemu/100/config";
    // a migration has ended, and the node does not know it yet
    let fleet = Fleet::default()
        .vm(100, "web", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")]))
        .refusal(path, 500, gone)
        .then(path, config(MAC))
        .start();
    assert_eq!(vars(&fleet.list(), "web")["ansible_host"], "10.0.0.5");
    // it was removed while we read
    let fleet = Fleet::default().row(row(100, "web")).refusal(path, 500, gone).start();
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
fn a_guest_that_waits_for_its_turn_is_not_called_silent() {
    // with two places the silent ones hold both for longer than a deadline
    let mut fleet = Fleet::default();
    for vmid in 100..106 {
        fleet = fleet.vm(vmid, &format!("g{vmid}"), config(MAC), json!([])).silence(&agent(vmid));
    }
    let fleet =
        fleet.vm(200, "web", config(MAC), json!([interface("eth0", LOW, "10.0.0.5")])).start();
    fleet.write("pve_inventory.cfg", "agent_timeout: 1\nconcurrency: 2\n");
    assert_eq!(vars(&fleet.list(), "web")["ansible_host"], "10.0.0.5");
    assert!(fleet.calls().contains(&agent(200)));
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
    assert!(connections.len() <= 32, "connections are reused: {connections:?}");
}
