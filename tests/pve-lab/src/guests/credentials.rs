//! What a guest without cloud-init is told by systemd's credentials: the same that its cloud-init
//! drive says, as far as an image builder would write it down.
//!
//! The keys are root's, whoever the drive names: nothing in such a guest makes other users.

use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use anyhow::{Context, Result};
use serde_yaml_ng::Value;

use super::host;

/// Credentials by name, from the files of a seed.
pub(super) fn of_seed(seed: &[(String, String)]) -> Result<Vec<(String, String)>> {
    let user = read(seed, "user-data")?;
    let mut credentials = Vec::new();
    let keys = texts(&user["ssh_authorized_keys"]);
    if !keys.is_empty() {
        let lines = keys.iter().map(|key| format!("{key}\n")).collect();
        credentials.push(("ssh.authorized_keys.root".to_owned(), lines));
    }
    if let Some(name) = user["hostname"].as_str() {
        credentials.push(("system.hostname".to_owned(), name.to_owned()));
    }
    let network = read(seed, "network-config")?;
    let entries = network["config"].as_sequence().map(Vec::as_slice).unwrap_or_default();
    let of_type = |kind: &'static str| entries.iter().filter(move |entry| entry["type"] == kind);
    let mut resolver = String::new();
    for entry in of_type("nameserver") {
        for (key, values) in [("DNS", &entry["address"]), ("Domains", &entry["search"])] {
            for value in texts(values) {
                resolver.push_str(&format!("{key}={value}\n"));
            }
        }
    }
    for (number, card) in of_type("physical").enumerate() {
        let mac = card["mac_address"].as_str().context("a card of the seed has no address")?;
        let text = format!("[Match]\nMACAddress={mac}\n\n[Network]\n{}{resolver}", addresses(card));
        credentials.push((format!("network.network.10-net{number}"), text));
    }
    Ok(credentials)
}

/// Whether the systemd of this root takes names and networks from no credential: bookworm's.
pub(super) fn are_too_new_for(root: &Path) -> bool {
    let release = fs::read_to_string(root.join("usr/lib/os-release")).unwrap_or_default();
    release.lines().any(|line| line == "VERSION_CODENAME=bookworm")
}

/// Writes down what the credentials say, as an image builder would; a root that has booted once
/// stays as it is.
pub(super) fn write_into(root: &Path, credentials: &[(String, String)]) -> Result<()> {
    let id = fs::read_to_string(root.join("etc/machine-id")).unwrap_or_default();
    if credentials.is_empty() || !id.trim().is_empty() {
        return Ok(());
    }
    for (name, text) in credentials {
        if name == "ssh.authorized_keys.root" {
            let folder = root.join("root/.ssh");
            fs::create_dir_all(&folder)?;
            fs::set_permissions(&folder, fs::Permissions::from_mode(0o700))?;
            fs::write(folder.join("authorized_keys"), text)?;
        } else if name == "system.hostname" {
            fs::write(root.join("etc/hostname"), format!("{text}\n"))?;
        } else if let Some(network) = name.strip_prefix("network.network.") {
            let folder = root.join("etc/systemd/network");
            fs::create_dir_all(&folder)?;
            fs::write(folder.join(format!("{network}.network")), text)?;
        }
    }
    // its openssh has no unit that makes them
    host::finish(host::command("ssh-keygen").args(["-q", "-A", "-f"]).arg(root))?;
    Ok(())
}

fn read(seed: &[(String, String)], name: &str) -> Result<Value> {
    let text = seed.iter().find(|(file, _)| file == name).map_or("", |(_, text)| text);
    serde_yaml_ng::from_str(text).with_context(|| format!("the seed's {name} is no YAML"))
}

fn texts(list: &Value) -> Vec<&str> {
    list.as_sequence().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn addresses(card: &Value) -> String {
    let mut text = String::new();
    for subnet in card["subnets"].as_sequence().into_iter().flatten() {
        let field = |name: &str| subnet[name].as_str().unwrap_or_default();
        match field("type") {
            "dhcp4" => text.push_str("DHCP=ipv4\n"),
            "dhcp6" => text.push_str("DHCP=ipv6\n"),
            "static" => {
                let mask: Ipv4Addr = field("netmask").parse().unwrap_or(Ipv4Addr::BROADCAST);
                let bits = mask.to_bits().leading_ones();
                text.push_str(&format!("Address={}/{bits}\n", field("address")));
            }
            "static6" => text.push_str(&format!("Address={}\n", field("address"))),
            // Router advertisements are heard without being asked for.
            _ => {}
        }
        if !field("gateway").is_empty() {
            text.push_str(&format!("Gateway={}\n", field("gateway")));
        }
    }
    // One `DHCP=` line alone would hold.
    text.replace("DHCP=ipv4\nDHCP=ipv6\n", "DHCP=yes\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn network_of(subnets: &str, rest: &str) -> String {
        let network = format!(
            "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: \
             'bc:24:11:00:00:01'\n      subnets:\n{subnets}{rest}"
        );
        let seed = [("network-config".to_owned(), network)];
        let credentials = of_seed(&seed).expect("a seed as PVE writes it");
        assert_eq!(credentials.len(), 1);
        assert_eq!(credentials[0].0, "network.network.10-net0");
        let head = "[Match]\nMACAddress=bc:24:11:00:00:01\n\n[Network]\n";
        credentials[0].1.strip_prefix(head).expect("a file for this card").to_owned()
    }

    #[test]
    fn a_card_gets_what_the_seed_says() {
        let rows = [
            ("      - type: dhcp4\n", "", "DHCP=ipv4\n"),
            ("      - type: dhcp4\n      - type: dhcp6\n", "", "DHCP=yes\n"),
            (
                "      - type: static\n        address: '10.0.99.50'\n        netmask: \
                 '255.255.255.0'\n        gateway: '10.0.99.1'\n",
                "    - type: nameserver\n      address:\n      - '1.1.1.1'\n      search:\n      \
                 - 'example.com'\n",
                "Address=10.0.99.50/24\nGateway=10.0.99.1\nDNS=1.1.1.1\nDomains=example.com\n",
            ),
            ("      - type: static6\n        address: 'fd00::2/64'\n", "", "Address=fd00::2/64\n"),
        ];
        for (subnets, rest, expected) in rows {
            assert_eq!(network_of(subnets, rest), expected, "{subnets}");
        }
    }

    #[test]
    fn root_gets_the_keys_and_the_guest_its_name() {
        let user = "#cloud-config\nhostname: web1\nuser: debian\nssh_authorized_keys:\n  - \
                    ssh-ed25519 AAAA a@b\n  - ssh-ed25519 BBBB c@d\n";
        let seed = [("user-data".to_owned(), user.to_owned())];
        let pair = |name: &str, text: &str| (name.to_owned(), text.to_owned());
        assert_eq!(
            of_seed(&seed).expect("a seed as PVE writes it"),
            [
                pair("ssh.authorized_keys.root", "ssh-ed25519 AAAA a@b\nssh-ed25519 BBBB c@d\n"),
                pair("system.hostname", "web1"),
            ]
        );
    }
}
