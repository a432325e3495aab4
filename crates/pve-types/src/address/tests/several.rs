//! Several interfaces with the NIC's MAC address.

use super::*;

#[test]
fn a07_a_bridge_over_the_nic_has_its_mac_and_the_address() {
    let config = config(&[("net0", "virtio=BC:24:11:00:00:07,bridge=vmbr0")]);
    let interfaces = [
        json!({"name": "eth0", "hardware-address": "bc:24:11:00:00:07"}),
        interface("br0", "bc:24:11:00:00:07", &["10.0.0.9/24"]),
        interface("virbr0", "52:54:00:11:22:33", &["192.168.122.1/24"]),
    ];
    assert_eq!(of(&config, &interfaces, &Policy::default()), "10.0.0.9 agent");
}

#[test]
fn a07_a_bond_gives_its_mac_to_both_ports() {
    let config = config(&[
        ("net0", "virtio=BC:24:11:00:00:07,bridge=vmbr0"),
        ("net1", "virtio=BC:24:11:00:00:08,bridge=vmbr1"),
    ]);
    let interfaces = [
        interface("eth0", "bc:24:11:00:00:07", &[]),
        interface("eth1", "bc:24:11:00:00:07", &[]),
        interface("bond0", "bc:24:11:00:00:07", &["10.0.0.9/24"]),
    ];
    assert_eq!(of(&config, &interfaces, &Policy::default()), "10.0.0.9 agent");
}

#[test]
fn a08_a_vlan_comes_after_its_parent() {
    let parent = interface("eth0", NIC, &["10.0.0.8/24"]);
    for name in ["eth0.30", "vlan30", "eth0:1", "eth0@x", "uplink.30"] {
        // The lower address would be taken if the two were equals.
        let child = interface(name, NIC, &["10.0.0.1/24"]);
        let answer = of(&net0(), &[child, parent.clone()], &Policy::default());
        assert_eq!(answer, "10.0.0.8 agent", "{name}");
    }
    let bare = interface("eth0", NIC, &[]);
    let child = interface("eth0.30", NIC, &["10.30.0.8/24"]);
    assert_eq!(of(&net0(), &[bare, child], &Policy::default()), "10.30.0.8 agent");
}

#[test]
fn a08_two_of_one_kind_are_ambiguous() {
    let text = |a: &str, b: &str| {
        format!(
            "ambiguous: {a} and {b} have net0's MAC address and say nothing of which one leads to \
             the guest: give the one that does by networks or ipconfig0"
        )
    };
    // what is called freely may be a VLAN, a bridge or the NIC
    let nic = interface("eth0", NIC, &["10.30.0.8/24", "10.30.0.9/24"]);
    let other = interface("mgmt", NIC, &["10.0.0.1/24"]);
    let both = [other.clone(), nic.clone()];
    let wanted = text("10.0.0.1 on mgmt", "10.30.0.8 on eth0");
    assert_eq!(of(&net0(), &both, &Policy::default()), wanted);
    let networks = vec!["10.30.0.0/16".parse().unwrap()];
    let policy = Policy { networks, ..Policy::default() };
    assert_eq!(of(&net0(), &both, &policy), "10.30.0.8 agent");
    let mut fixed = net0();
    fixed.insert("ipconfig0".into(), "ip=10.30.0.9/24".into());
    assert_eq!(of(&fixed, &both, &Policy::default()), "10.30.0.9 agent");
    // the fixed one may stand on a VLAN too
    let child = interface("eth0.7", NIC, &["10.30.0.9/24"]);
    let parent = interface("eth0", NIC, &["10.0.0.8/24"]);
    assert_eq!(of(&fixed, &[parent.clone(), child], &Policy::default()), "10.30.0.9 agent");
    let vlans =
        [interface("eth0.7", NIC, &["10.7.0.8/24"]), interface("vlan8", NIC, &["10.8.0.8/24"])];
    let wanted = text("10.7.0.8 on eth0.7", "10.8.0.8 on vlan8");
    assert_eq!(of(&net0(), &vlans, &Policy::default()), wanted);
    // one address on both is one address, and another family or a /32 beside it is no rival
    let bridge = interface("br0", NIC, &["10.0.0.8/24", "fd00::8/64"]);
    assert_eq!(of(&net0(), &[bridge, parent.clone()], &Policy::default()), "10.0.0.8 agent");
    let vip = interface("vip0", NIC, &["10.0.0.1/32", "fd00::8/64"]);
    assert_eq!(of(&net0(), &[vip, parent], &Policy::default()), "10.0.0.8 agent");
}

#[test]
fn a08_two_interfaces_of_one_name_are_told_apart_by_no_order() {
    let first = interface("eth0", NIC, &["10.0.0.1/24", "10.0.0.4/24"]);
    let second = interface("eth0", NIC, &["10.0.0.1/24", "10.0.0.2/24"]);
    let answer = of(&net0(), &[first, second], &Policy::default());
    assert!(answer.starts_with("ambiguous: 10.0.0.1 on eth0 and 10.0.0.2 on eth0"), "{answer}");
}
