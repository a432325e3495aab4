use std::collections::BTreeMap;
use std::net::IpAddr;

use pve_types::GuestKind;
use pve_types::address::{Known, Policy, Report, Source, explain};
use serde::Deserialize;
use serde_json::Value;

#[derive(Deserialize)]
struct Input {
    kind: GuestKind,
    config: BTreeMap<String, String>,
    report: Value,
}

/// A guest as JSON: an address that is observed belongs to an interface with the NIC's MAC address, one
/// that is configured stands in the configuration, and the order of interfaces means nothing.
pub fn address(data: &[u8]) {
    let Ok(Input { kind, config, report }) = serde_json::from_slice(data) else { return };
    let Ok(mut report) = serde_json::from_value::<Report>(report) else { return };
    let policy = Policy::default();
    let asked =
        |report: &Report| explain(Known { kind, config: &config, report: Ok(report) }, &policy);
    let (found, explanation) = asked(&report);
    if let Ok(address) = &found {
        let nic = explanation.nic.expect("an address has a NIC");
        let mac = explanation.mac.expect("an address has a MAC address");
        let line = &config[&nic.to_string()];
        let plain = |text: &str| text.replace([':', '-', '.'], "").to_ascii_lowercase();
        assert!(plain(line).contains(&plain(&mac.to_string())), "{mac} is not in {line:?}");
        if address.source == Source::Configured {
            let words = config.values().flat_map(|line| line.split(['=', ',', '/']));
            let ips: Vec<IpAddr> = words.filter_map(|word| word.parse().ok()).collect();
            assert!(ips.contains(&address.ip), "{address:?} is configured nowhere");
        } else {
            let has = |(ip, _): &(IpAddr, Option<u8>)| *ip == address.ip;
            let theirs = report.interfaces.iter().filter(|one| one.mac == Some(mac));
            assert!(
                theirs.flat_map(|one| &one.addresses).any(has),
                "{address:?} is on no interface with {mac}"
            );
        }
    }
    report.interfaces.reverse();
    for interface in &mut report.interfaces {
        interface.addresses.reverse();
    }
    let again = asked(&report).0;
    assert_eq!(again.as_ref().map(|one| one.ip).ok(), found.map(|one| one.ip).ok());
}
