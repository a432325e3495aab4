//! One row for each way in which peers took the wrong address.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

const NIC: &str = "BC:24:11:AA:BB:01";

mod several;

fn config(lines: &[(&str, &str)]) -> BTreeMap<String, String> {
    lines.iter().map(|(key, line)| ((*key).to_owned(), (*line).to_owned())).collect()
}

fn net0() -> BTreeMap<String, String> {
    config(&[("net0", &format!("virtio={NIC},bridge=vmbr0"))])
}

fn interface(name: &str, mac: &str, addresses: &[&str]) -> Value {
    let addresses: Vec<Value> = addresses
        .iter()
        .map(|text| {
            let (ip, prefix) = text.split_once('/').unwrap();
            let family = if ip.contains(':') { "ipv6" } else { "ipv4" };
            let prefix: u8 = prefix.parse().unwrap();
            json!({"ip-address": ip, "ip-address-type": family, "prefix": prefix})
        })
        .collect();
    json!({"name": name, "hardware-address": mac, "ip-addresses": addresses})
}

fn report(interfaces: &[Value]) -> Report {
    serde_json::from_value(json!({"result": interfaces})).unwrap()
}

/// The address, in every order of the interfaces and of their addresses.
fn of(config: &BTreeMap<String, String>, interfaces: &[Value], policy: &Policy) -> String {
    let ask = |report: &Report| match address(
        Known { kind: GuestKind::Qemu, config, report: Ok(report) },
        policy,
    ) {
        Ok(address) => format!("{} {}", address.ip, json!(address.source).as_str().unwrap()),
        Err(reason) => format!("{}: {}", json!(reason.kind).as_str().unwrap(), reason.text),
    };
    let mut report = report(interfaces);
    let answer = ask(&report);
    for _ in 0..report.interfaces.len() {
        report.interfaces.rotate_left(1);
        assert_eq!(ask(&report), answer);
        for interface in &mut report.interfaces {
            interface.addresses.reverse();
        }
        assert_eq!(ask(&report), answer);
    }
    answer
}

fn lo() -> Value {
    interface("lo", "00:00:00:00:00:00", &["127.0.0.1/8", "::1/128"])
}

fn docker() -> Value {
    interface("docker0", "02:42:aa:bb:cc:dd", &["172.17.0.1/16"])
}

#[test]
fn a01_a_bridge_listed_first_is_not_taken() {
    let nic = interface("eth0", "bc:24:11:aa:bb:01", &["10.0.0.5/24"]);
    assert_eq!(of(&net0(), &[lo(), docker(), nic], &Policy::default()), "10.0.0.5 agent");
}

#[test]
fn a03_link_local_is_never_taken() {
    let nic = interface("eth0", NIC, &["fe80::be24:11ff:feaa:bb01/64", "10.0.0.5/24"]);
    assert_eq!(of(&net0(), &[nic], &Policy::default()), "10.0.0.5 agent");
    let nic = interface("eth0", NIC, &["169.254.7.7/16", "224.0.0.5/32", "ff02::1/8", "0.0.0.0/0"]);
    assert_eq!(
        of(&net0(), &[nic], &Policy::default()),
        "no_address: net0 has no usable address yet"
    );
}

#[test]
fn a04_no_address_yet_is_a_reason() {
    let nic = interface("eth0", NIC, &["fe80::1/64"]);
    assert_eq!(
        of(&net0(), &[docker(), nic], &Policy::default()),
        "no_address: net0 has no usable address yet"
    );
}

#[test]
fn a12_interfaces_without_addresses_are_passed_over() {
    let interfaces = [
        json!({"name": "veth1a2b", "hardware-address": "aa:bb:cc:00:11:22"}),
        json!({"name": "eth1", "hardware-address": "aa:bb:cc:00:11:23", "ip-addresses": []}),
        json!({"name": "wg0", "ip-addresses": [{"ip-address": "10.9.9.9", "prefix": 24}]}),
        json!({"name": "sit0", "hardware-address": "00:00:00:00"}),
        json!({"name": "odd", "hardware-address": NIC, "ip-addresses": [{"prefix": 24}, 7]}),
        json!("nonsense"),
        interface("eth0", NIC, &["10.0.0.5/24"]),
    ];
    assert_eq!(of(&net0(), &interfaces, &Policy::default()), "10.0.0.5 agent");
}

#[test]
fn a12_an_odd_value_hides_nothing_else() {
    let child = interface("eth0.30", NIC, &["10.30.0.1/24"]);
    let good = json!([{"ip-address": "10.0.0.5", "prefix": 24}]);
    for odd in [
        json!({"name": null, "hardware-address": NIC, "ip-addresses": good}),
        json!({"name": 7, "hardware-address": NIC, "ip-addresses": good}),
        json!({"hardware-address": NIC, "ip-addresses": good, "inet": ["x"], "inet6": {}}),
        json!({"name": "eth0", "hardware-address": 5, "hwaddr": NIC, "ip-addresses": good}),
        json!({"name": "eth0", "hardware-address": NIC,
               "ip-addresses": [{"ip-address": "10.0.0.5", "prefix": []}]}),
        json!({"name": "eth0", "hardware-address": NIC, "ip-addresses": {}, "inet": "10.0.0.5/24"}),
    ] {
        let answer = of(&net0(), &[child.clone(), odd.clone()], &Policy::default());
        assert_eq!(answer, "10.0.0.5 agent", "{odd}");
    }
}

#[test]
fn a14_a_refusal_in_the_place_of_an_answer_is_none() {
    let refusal = json!({"error": {"class": "CommandNotFound",
                                   "desc": "The command guest-network-get-interfaces is disabled"}});
    for (answer, why) in [
        (refusal.clone(), "The command guest-network-get-interfaces is disabled"),
        (json!({"result": refusal}), "The command guest-network-get-interfaces is disabled"),
        (json!({"result": {"error": {"class": "GenericError", "desc": 5}}}), "GenericError"),
        (json!({"error": {}}), "it gives no reason"),
    ] {
        let error = serde_json::from_value::<Report>(answer).unwrap_err().to_string();
        assert_eq!(error, format!("the agent refuses to tell: {why}"));
    }
}

#[test]
fn a14_a_template_has_no_address() {
    let mut config = net0();
    config.insert("ipconfig0".into(), "ip=10.0.0.7/24".into());
    let reason = Reason::new(ReasonKind::Template, "it is a template");
    let known = Known { kind: GuestKind::Qemu, config: &config, report: Err(&reason) };
    assert_eq!(address(known, &Policy::default()), Err(reason));
}

fn silent(config: &BTreeMap<String, String>, kind: GuestKind) -> Result<Address, Reason> {
    let reason = Reason::new(ReasonKind::AgentSilent, "QEMU guest agent is not running");
    address(Known { kind, config, report: Err(&reason) }, &Policy::default())
}

#[test]
fn a14_a_fixed_address_stands_in_for_a_silent_agent() {
    let mut config = net0();
    config.insert("ipconfig0".into(), "ip=10.0.0.7/24,gw=10.0.0.1".into());
    let found = silent(&config, GuestKind::Qemu).unwrap();
    assert_eq!((found.ip.to_string().as_str(), found.source), ("10.0.0.7", Source::Configured));
    assert_eq!(found.unobserved.unwrap().kind, ReasonKind::AgentSilent);
    for line in ["ip=dhcp", "ip6=auto", "ip=169.254.1.1/16"] {
        config.insert("ipconfig0".into(), line.into());
        assert_eq!(silent(&config, GuestKind::Qemu).unwrap_err().kind, ReasonKind::AgentSilent);
    }
    // An agent that answers is believed, also if it has nothing to say.
    config.insert("ipconfig0".into(), "ip=10.0.0.7/24".into());
    let nic = interface("eth0", NIC, &[]);
    let answer = of(&config, &[nic], &Policy::default());
    assert_eq!(answer, "no_address: net0 has no usable address yet");
}

#[test]
fn a14_the_stand_in_belongs_to_the_nic_that_decides() {
    let config = config(&[
        ("net1", "virtio=BC:24:11:00:00:08,bridge=vmbr1"),
        ("ipconfig0", "ip=10.0.0.7/24"),
        ("ipconfig1", "ip=10.1.0.7/24"),
    ]);
    assert_eq!(silent(&config, GuestKind::Qemu).unwrap().ip.to_string(), "10.1.0.7");
}

fn container(interfaces: &Value, net: &str) -> Result<Address, Reason> {
    let config = config(&[("net0", net)]);
    let report: Report = serde_json::from_value(interfaces.clone()).unwrap();
    let known = Known { kind: GuestKind::Lxc, config: &config, report: Ok(&report) };
    address(known, &Policy::default())
}

#[test]
fn a23_a_container_says_it_in_its_own_shape() {
    let net = "name=eth0,bridge=vmbr0,hwaddr=BC:24:11:10:20:30,ip=dhcp,type=veth";
    let interfaces = json!([
        {"name": "lo", "hwaddr": "00:00:00:00:00:00", "inet": "127.0.0.1/8"},
        {"name": "docker0", "hwaddr": "02:42:00:00:00:01", "inet": "172.17.0.1/16"},
        {"name": "eth0", "hwaddr": "bc:24:11:10:20:30", "hardware-address": "bc:24:11:10:20:30",
         "inet": "192.168.0.224/24", "inet6": "fe80::be24:11ff:fe10:2030/64",
         "ip-addresses": [{"ip-address": "192.168.0.224", "ip-address-type": "inet", "prefix": "24"}]},
    ]);
    let found = container(&interfaces, net).unwrap();
    assert_eq!(
        (found.ip.to_string().as_str(), found.source),
        ("192.168.0.224", Source::Interfaces)
    );
}

#[test]
fn a24_an_old_node_leaves_what_is_configured() {
    let line = "name=eth0,hwaddr=BC:24:11:10:20:30,ip=10.0.0.8/24";
    let found = silent(&config(&[("net0", line)]), GuestKind::Lxc).unwrap();
    assert_eq!((found.ip.to_string().as_str(), found.source), ("10.0.0.8", Source::Configured));
    assert!(silent(&config(&[("net0", "name=eth0,ip=dhcp")]), GuestKind::Lxc).is_err());
}

#[test]
fn a25_a_container_that_just_started_has_no_address() {
    let net = "name=eth0,hwaddr=BC:24:11:10:20:30,ip=dhcp";
    let just = json!([{"name": "eth0", "hwaddr": "bc:24:11:10:20:30", "inet6": "fe80::1/64"}]);
    assert_eq!(container(&just, net).unwrap_err().kind, ReasonKind::NoAddress);
    assert_eq!(container(&Value::Null, net).unwrap_err().kind, ReasonKind::NoInterface);
}

#[test]
fn a37_another_mac_than_the_running_one_matches_nothing() {
    let pending = config(&[("net0", "virtio=BC:24:11:AA:BB:99,bridge=vmbr0")]);
    let nic = interface("eth0", NIC, &["10.0.0.31/24"]);
    assert_eq!(of(&net0(), std::slice::from_ref(&nic), &Policy::default()), "10.0.0.31 agent");
    assert_eq!(
        of(&pending, &[nic], &Policy::default()),
        "no_interface: no interface of the guest has net0's MAC address BC:24:11:AA:BB:99"
    );
}

#[test]
fn a38_one_mac_on_two_nics_is_ambiguous() {
    let config = config(&[
        ("net0", "virtio=BC:24:11:00:00:77,bridge=vmbr0"),
        ("net1", "virtio=bc:24:11:00:00:77,bridge=vmbr1"),
    ]);
    let interfaces = [
        interface("ens18", "bc:24:11:00:00:77", &["10.0.0.40/24"]),
        interface("ens19", "bc:24:11:00:00:77", &["172.27.0.40/24"]),
    ];
    assert_eq!(
        of(&config, &interfaces, &Policy::default()),
        "ambiguous: net0 and net1 have the same MAC address BC:24:11:00:00:77"
    );
}

#[test]
fn the_lowest_number_decides_unless_another_is_named() {
    let config = config(&[
        ("net10", "virtio=BC:24:11:00:00:10,bridge=vmbr0"),
        ("net2", "virtio=BC:24:11:00:00:02,bridge=vmbr0"),
    ]);
    let interfaces = [
        interface("a", "bc:24:11:00:00:10", &["10.0.10.1/24"]),
        interface("b", "bc:24:11:00:00:02", &["10.0.2.1/24"]),
    ];
    let named = |net| Policy { net: Some(NetSlot(net)), ..Policy::default() };
    assert_eq!(of(&config, &interfaces, &Policy::default()), "10.0.2.1 agent");
    assert_eq!(of(&config, &interfaces, &named(10)), "10.0.10.1 agent");
    assert_eq!(of(&config, &interfaces, &named(3)), "no_nic: the guest has no net3");
    assert_eq!(
        of(&BTreeMap::new(), &interfaces, &Policy::default()),
        "no_nic: the guest has no NIC"
    );
}

#[test]
fn of_several_addresses_the_steadiest_is_taken() {
    let slaac = "2001:db8::be24:11ff:feaa:bb01/64";
    for (addresses, taken) in [
        (&["10.0.0.100/24", "10.0.0.5/32"][..], "10.0.0.100"),
        (&["10.0.0.100/24", "10.0.0.5/24"], "10.0.0.5"),
        (&["2001:db8::1/64", "10.0.0.5/24"], "10.0.0.5"),
        (&["2001:db8::1234:5678:9abc:def0/64", slaac], "2001:db8::be24:11ff:feaa:bb01"),
        (&["2001:db8::1234:5678:9abc:def0/64", "2001:db8:1::5/64"], "2001:db8:1::5"),
        (&["2001:db8::1234:5678:9abc:def0/64"], "2001:db8::1234:5678:9abc:def0"),
        (&["::ffff:10.0.0.9/96"], "10.0.0.9"),
    ] {
        let nic = interface("eth0", NIC, addresses);
        assert_eq!(of(&net0(), &[nic], &Policy::default()), format!("{taken} agent"));
    }
    let mut config = net0();
    config.insert("ipconfig0".into(), "ip=10.0.0.100/24".into());
    let nic = interface("eth0", NIC, &["10.0.0.5/24", "10.0.0.100/24"]);
    assert_eq!(of(&config, &[nic], &Policy::default()), "10.0.0.100 agent");
}

#[test]
fn the_policy_is_followed() {
    let nic = interface("eth0", NIC, &["10.0.0.5/24", "192.168.7.5/24", "2001:db8::5/64"]);
    let nets = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
    for (policy, answer) in [
        (Policy { prefer: Family::Ipv6, ..Policy::default() }, "2001:db8::5 agent"),
        (Policy { networks: nets(&["192.168.0.0/16"]), ..Policy::default() }, "192.168.7.5 agent"),
        (Policy { exclude: nets(&["10.0.0.0/8"]), ..Policy::default() }, "192.168.7.5 agent"),
        (
            Policy { networks: nets(&["172.16.0.0/12"]), ..Policy::default() },
            "left_out: every address of net0 is left out by the networks given",
        ),
    ] {
        assert_eq!(of(&net0(), std::slice::from_ref(&nic), &policy), answer);
    }
}

#[test]
fn the_explanation_says_what_was_left_and_why() {
    let config = net0();
    let report = report(&[lo(), docker(), interface("eth0", NIC, &["fe80::1/64", "10.0.0.5/24"])]);
    let known = Known { kind: GuestKind::Qemu, config: &config, report: Ok(&report) };
    let (_, explanation) = explain(known, &Policy::default());
    assert_eq!(
        json!(explanation),
        json!({
            "nic": "net0",
            "mac": NIC,
            "matched": ["eth0"],
            "discarded": [
                {"interface": "docker0", "why": "has another MAC address"},
                {"interface": "eth0", "address": "fe80::1", "why": "link-local"},
                {"interface": "lo", "why": "has no MAC address"},
            ],
        })
    );
}

fn any_interface() -> impl Strategy<Value = Interface> {
    let mac = prop_oneof![
        Just(None),
        Just(Some(NIC)),
        Just(Some("bc-24-11-aa-bb-01")),
        Just(Some("02:42:AA:BB:CC:DD")),
    ];
    let ip = prop_oneof![
        any::<[u8; 4]>().prop_map(IpAddr::from),
        (0_u8..4).prop_map(|last| IpAddr::from([10, 0, 0, last])),
        any::<[u16; 8]>().prop_map(IpAddr::from),
    ];
    let addresses = prop::collection::vec((ip, prop::option::of(0_u8..=32)), 0..4);
    let name = prop_oneof![Just("eth0".to_owned()), Just("eth0.30".to_owned()), "[a-z]{1,4}[0-9]"];
    (name, mac, addresses).prop_map(|(name, mac, addresses)| Interface {
        name,
        mac: mac.map(|text| text.parse().unwrap()),
        addresses,
    })
}

proptest! {
    #[test]
    fn the_order_never_matters_and_the_mac_always_does(
        interfaces in prop::collection::vec(any_interface(), 0..6),
        seed in any::<prop::sample::Index>(),
    ) {
        let config = net0();
        let ask = |interfaces: &[Interface]| {
            let report = Report { interfaces: interfaces.to_vec() };
            let known = Known { kind: GuestKind::Qemu, config: &config, report: Ok(&report) };
            address(known, &Policy::default())
        };
        let answer = ask(&interfaces);
        let mut other = interfaces.clone();
        if !other.is_empty() {
            let by = seed.index(other.len());
            other.rotate_left(by);
        }
        other.reverse();
        for interface in &mut other {
            interface.addresses.reverse();
        }
        prop_assert_eq!(ask(&other), answer.clone());
        if let Ok(found) = answer {
            let mac: MacAddress = NIC.parse().unwrap();
            let owner = interfaces.iter().any(|interface| {
                interface.mac == Some(mac) && interface.addresses.iter().any(|(ip, _)| *ip == found.ip)
            });
            prop_assert!(owner, "{} is on no interface with the MAC", found.ip);
            prop_assert!(rank::unusable(found.ip).is_none());
        }
    }
}
