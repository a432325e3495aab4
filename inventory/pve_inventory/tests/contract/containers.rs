//! Containers: their interfaces come from the node, in another shape.

use serde_json::{Value, json};

use crate::fleet::{Fleet, foreign, hosts, vars};

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
