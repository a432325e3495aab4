//! `cloudinit`: the seed that PVE writes for NoCloud, and whether the guest has it yet.

use percent_encoding::percent_decode_str;
use serde_json::json;

use super::super::super::call::{Call, NOTHING};
use super::super::super::error::{ApiError, ApiResult};
use super::super::super::params::split_list;
use super::values::{net_parts, shown};
use crate::driver::Seed;
use crate::shared::Shared;
use crate::state::config::{Section, sha1_hex};
use crate::state::guest::{drives, is_slot, slot_number};
use crate::state::storage::Volume;

const KEYS: &[&str] = &[
    "cicustom",
    "cipassword",
    "citype",
    "ciupgrade",
    "ciuser",
    "nameserver",
    "searchdomain",
    "sshkeys",
];

/// Name servers and search domains of the node, for guests that name none.
pub(crate) type NodeDns = (Vec<String>, Vec<String>);

fn dns(main: &Section, node: &NodeDns) -> NodeDns {
    let list = |key: &str, fallback: &[String]| match main.get(key) {
        Some(text) => split_list(text),
        None => fallback.to_vec(),
    };
    (list("nameserver", &node.0), list("searchdomain", &node.1))
}

fn user_data(vmid: u32, main: &Section, search: Option<&String>) -> String {
    let name = main.get("name").cloned().unwrap_or_else(|| format!("VM{vmid}"));
    let (host, fqdn) = match (name.split_once('.'), search) {
        (Some((host, _)), _) => (host.to_owned(), name.clone()),
        (None, Some(domain)) => (name.clone(), format!("{name}.{domain}")),
        (None, None) => (name.clone(), name.clone()),
    };
    let mut text =
        format!("#cloud-config\nhostname: {host}\nmanage_etc_hosts: true\nfqdn: {fqdn}\n");
    let user = main.get("ciuser");
    if let Some(user) = user {
        text.push_str(&format!("user: {user}\n"));
    }
    let root = user.is_some_and(|user| user == "root");
    if root {
        text.push_str("disable_root: False\n");
    }
    if let Some(password) = main.get("cipassword") {
        text.push_str(&format!("password: {password}\n"));
    }
    if let Some(keys) = main.get("sshkeys") {
        text.push_str("ssh_authorized_keys:\n");
        let keys = percent_decode_str(keys).decode_utf8_lossy().into_owned();
        for key in keys.lines().filter(|line| !line.trim().is_empty()) {
            text.push_str(&format!("  - {key}\n"));
        }
    }
    text.push_str("chpasswd:\n  expire: False\n");
    if !root {
        text.push_str("users:\n  - default\n");
    }
    if main.get("ciupgrade").is_none_or(|value| value != "0") {
        text.push_str("package_upgrade: true\n");
    }
    text
}

fn netmask(bits: u32) -> String {
    let mask = if bits == 0 { 0 } else { u32::MAX << (32 - bits.min(32)) };
    std::net::Ipv4Addr::from(mask).to_string()
}

fn subnets(ipconfig: &str) -> String {
    let option = |name: &str| {
        ipconfig.split(',').find_map(|part| part.strip_prefix(name)?.strip_prefix('='))
    };
    let (mut ip, mut ip6) = (option("ip"), option("ip6"));
    if ip.is_none() && ip6.is_none() {
        (ip, ip6) = (Some("dhcp"), Some("dhcp"));
    }
    let mut text = String::new();
    match ip {
        Some("dhcp") => text.push_str("      - type: dhcp4\n"),
        Some(cidr) => {
            let (address, bits) = cidr.split_once('/').unwrap_or((cidr, "32"));
            let mask = netmask(bits.parse().unwrap_or(32));
            text.push_str(&format!(
                "      - type: static\n        address: '{address}'\n        netmask: '{mask}'\n"
            ));
            if let Some(gateway) = option("gw") {
                text.push_str(&format!("        gateway: '{gateway}'\n"));
            }
        }
        None => {}
    }
    match ip6 {
        Some("dhcp") => text.push_str("      - type: dhcp6\n"),
        Some("auto") => text.push_str("      - type: ipv6_slaac\n"),
        Some(cidr) => {
            text.push_str(&format!("      - type: static6\n        address: '{cidr}'\n"));
            if let Some(gateway) = option("gw6") {
                text.push_str(&format!("        gateway: '{gateway}'\n"));
            }
        }
        None => {}
    }
    text
}

fn network_config(main: &Section, node: &NodeDns) -> String {
    let mut text = "version: 1\nconfig:\n".to_owned();
    let mut cards: Vec<(u32, &String)> = main
        .iter()
        .filter(|(key, _)| is_slot(key, "net"))
        .map(|(key, value)| (slot_number(key), value))
        .collect();
    cards.sort_unstable();
    for (slot, value) in cards {
        let Some(ipconfig) = main.get(&format!("ipconfig{slot}")) else { continue };
        let mac = net_parts(value).1.to_lowercase();
        text.push_str(&format!(
            "    - type: physical\n      name: eth{slot}\n      mac_address: '{mac}'\n      \
             subnets:\n{}",
            subnets(ipconfig)
        ));
    }
    let (servers, search) = dns(main, node);
    if servers.is_empty() && search.is_empty() {
        return text;
    }
    text.push_str("    - type: nameserver\n");
    for (title, list) in [("address", servers), ("search", search)] {
        if !list.is_empty() {
            text.push_str(&format!("      {title}:\n"));
            for entry in list {
                text.push_str(&format!("      - '{entry}'\n"));
            }
        }
    }
    text
}

/// The three texts of a seed, before `cicustom` replaces any of them.
pub(crate) fn generate(vmid: u32, main: &Section, node: &NodeDns) -> Seed {
    let search = dns(main, node).1;
    let user_data = user_data(vmid, main, search.first());
    let network_config = network_config(main, node);
    let id = sha1_hex(&format!("{user_data}{network_config}"));
    Seed {
        user_data,
        network_config,
        meta_data: format!("instance-id: {id}\n"),
        vendor_data: String::new(),
    }
}

/// The seed a guest is started with.
pub(crate) fn seed(shared: &Shared, vmid: u32, main: &Section) -> Seed {
    let mut seed = generate(vmid, main, &shared.driver.dns());
    let custom = main.get("cicustom").map(String::as_str).unwrap_or_default();
    for (kind, volid) in custom.split(',').filter_map(|part| part.split_once('=')) {
        let text = Volume::parse(volid).and_then(|volume| {
            let storage = shared.state().storage(&volume.storage).ok()?.clone();
            std::fs::read_to_string(volume.file(&storage)).ok()
        });
        let Some(text) = text else { continue };
        match kind {
            "user" => seed.user_data = text,
            "network" => seed.network_config = text,
            "meta" => seed.meta_data = text,
            _ => seed.vendor_data = text,
        }
    }
    seed
}

/// One of the generated texts.
pub(crate) fn dump(call: Call) -> ApiResult {
    let node = call.shared.driver.dns();
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let seed = generate(guest.vmid, &guest.config.main, &node);
    Ok(json!(match call.params.text("type") {
        "user" => seed.user_data,
        "network" => seed.network_config,
        _ => seed.meta_data,
    }))
}

/// Cloud-init settings, and those that differ from what the drive was made from.
pub(crate) fn list(call: Call) -> ApiResult {
    let state = call.state();
    let guest = state.vm(call.node(), call.vmid()).map_err(ApiError::internal)?;
    let schema = &call.shared.schema;
    let wanted = guest.config.merged();
    let made = guest.generated.as_ref().unwrap_or(&wanted);
    let mut keys: Vec<&String> = wanted
        .keys()
        .chain(made.keys())
        .filter(|key| {
            KEYS.contains(&key.as_str())
                || ((is_slot(key, "net") || is_slot(key, "ipconfig"))
                    && wanted.get(*key) != made.get(*key))
        })
        .collect();
    keys.sort();
    keys.dedup();
    Ok(keys
        .into_iter()
        .map(|key| {
            let mut row = json!({"key": key});
            match (made.get(key), wanted.get(key)) {
                (Some(old), None) => {
                    row["value"] = shown(schema, key, old);
                    row["delete"] = json!(1);
                }
                (old, Some(new)) => {
                    if let Some(old) = old {
                        row["value"] = shown(schema, key, old);
                    }
                    if old != Some(new) {
                        row["pending"] = shown(schema, key, new);
                    }
                }
                (None, None) => {}
            }
            row
        })
        .collect())
}

/// Writes the drive anew from the settings as they are now.
pub(crate) fn regenerate(call: Call) -> ApiResult {
    let vmid = call.vmid();
    let main = {
        let mut state = call.state();
        let guest = state.vm_mut(call.node(), vmid).map_err(ApiError::internal)?;
        guest.check_lock().map_err(ApiError::internal)?;
        let ours = |key: &str| KEYS.contains(&key) || is_slot(key, "ipconfig");
        let config = &mut guest.config;
        for key in config.pending.keys().filter(|key| ours(key)).cloned().collect::<Vec<_>>() {
            if let Some(value) = config.pending.remove(&key) {
                config.main.insert(key, value);
            }
        }
        for key in config.deletes.iter().filter(|key| ours(key)).cloned().collect::<Vec<_>>() {
            config.deletes.remove(&key);
            config.main.remove(&key);
        }
        guest.generated = Some(config.main.clone());
        let main = config.main.clone();
        state.save_guest(vmid);
        main
    };
    if drives(&main).iter().any(|(_, drive)| drive.is_cloudinit()) {
        let seed = seed(&call.shared, vmid, &main);
        call.shared.driver.reseed(vmid, &seed).map_err(|e| ApiError::internal(e.to_string()))?;
    }
    NOTHING
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(pairs: &[(&str, &str)]) -> Section {
        pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn the_seed_has_pves_words() {
        let main = section(&[
            ("name", "web-1"),
            ("ciuser", "admin"),
            ("sshkeys", "ssh-ed25519%20AAAA%20a%40b%0A"),
            ("net0", "virtio=BC:24:11:06:A3:B8,bridge=vmbr0,firewall=1,tag=10"),
            ("ipconfig0", "ip=10.0.99.50/24,gw=10.0.99.1"),
            ("nameserver", "1.1.1.1 9.9.9.9"),
            ("searchdomain", "example.com"),
        ]);
        let seed = generate(110, &main, &NodeDns::default());
        assert_eq!(
            seed.user_data,
            "#cloud-config\nhostname: web-1\nmanage_etc_hosts: true\nfqdn: web-1.example.com\n\
             user: admin\nssh_authorized_keys:\n  - ssh-ed25519 AAAA a@b\nchpasswd:\n  expire: \
             False\nusers:\n  - default\npackage_upgrade: true\n"
        );
        assert_eq!(
            seed.network_config,
            "version: 1\nconfig:\n    - type: physical\n      name: eth0\n      mac_address: \
             'bc:24:11:06:a3:b8'\n      subnets:\n      - type: static\n        address: \
             '10.0.99.50'\n        netmask: '255.255.255.0'\n        gateway: '10.0.99.1'\n    - \
             type: nameserver\n      address:\n      - '1.1.1.1'\n      - '9.9.9.9'\n      \
             search:\n      - 'example.com'\n"
        );
        assert!(seed.meta_data.starts_with("instance-id: "));
    }

    #[test]
    fn a_card_without_address_asks_dhcp_and_one_without_ipconfig_is_left_out() {
        let main = section(&[
            ("net0", "virtio=BC:24:11:00:00:01,bridge=vmbr0"),
            ("net1", "virtio=BC:24:11:00:00:02,bridge=vmbr0"),
            ("ipconfig0", "ip=dhcp"),
            ("ciupgrade", "0"),
            ("ciuser", "root"),
        ]);
        let seed = generate(110, &main, &NodeDns::default());
        assert!(seed.network_config.ends_with("subnets:\n      - type: dhcp4\n"));
        assert!(!seed.network_config.contains("eth1"));
        assert!(!seed.user_data.contains("package_upgrade"));
        assert!(seed.user_data.contains("disable_root: False\n"));
    }
}
