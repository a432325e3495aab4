//! The page about the inventory says what the program does.

use serde_json::json;

use crate::ansible::ansible;
use crate::fleet::{Fleet, config, hosts, interface, printed, vars};

fn page() -> String {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/inventory.md");
    std::fs::read_to_string(path).unwrap()
}

fn fleet() -> Fleet {
    let interfaces = json!([interface("eth0", "bc:24:11:aa:bb:01", "10.0.0.5")]);
    Fleet::default().vm(100, "web", config("BC:24:11:AA:BB:01"), interfaces).vm(
        101,
        "db",
        config("BC:24:11:AA:BB:02"),
        json!([]),
    )
}

#[test]
fn every_variable_and_key_is_in_its_table() {
    let page = page();
    let fleet = fleet().start();
    fleet.write("pve_inventory.cfg", "guests: guests\nvalidate_certs: false\n");
    fleet.write(
        "guests/web.yml",
        "kind: vm\ncloud_init: {ciuser: a}\npackages: []\narchive_snapshot: x\ntimezone: y\n",
    );
    let inventory = fleet.list();
    for host in ["web", "db"] {
        for name in vars(&inventory, host).as_object().unwrap().keys() {
            assert!(page.contains(&format!("`{name}`")), "variable {name} is not on the page");
        }
    }
    for group in inventory.as_object().unwrap().keys().filter(|name| *name != "_meta") {
        let family = ["pve_status_", "pve_node_", "pve_ostype_"]
            .into_iter()
            .find(|family| group.starts_with(family))
            .map(|family| family.to_owned() + &family[4..family.len() - 1].to_uppercase());
        let shown = family.unwrap_or_else(|| group.clone());
        assert!(page.contains(&format!("`{shown}`")), "group {shown} is not on the page");
    }
    fleet.write("pve_inventory.cfg", "nonsense: 1\n");
    let refusal = fleet.run(&["config"]).stderr;
    let (_, allowed) = refusal.trim().split_once("allowed are ").unwrap();
    for key in allowed.split(", ") {
        assert!(page.contains(&format!("`{key}`")), "key {key} is not on the page");
    }
}

#[test]
fn the_constructed_example_works_on_top() {
    let page = page();
    let (_, rest) = page.split_once("```yaml\n# inventory/site/30-constructed.yml\n").unwrap();
    let (example, _) = rest.split_once("```").unwrap();
    let fleet = fleet().start();
    fleet.write("30-constructed.yml", example);
    let mut command = ansible(&fleet, "ansible-inventory", &["-i", "30-constructed.yml", "--list"]);
    let listed =
        printed(command.env("ANSIBLE_INVENTORY_ENABLED", "script,ansible.builtin.constructed"));
    assert_eq!((listed.status, listed.stderr.as_str()), (Some(0), ""), "{listed:?}");
    let inventory = serde_json::from_str(&listed.stdout).unwrap();
    assert_eq!(hosts(&inventory, "reachable"), ["web"]);
    assert_eq!(hosts(&inventory, "kind_qemu"), ["db", "web"]);
    // newer cores keep what is made of a marked value marked
    assert!(vars(&inventory, "web")["first_tag"].to_string().contains("none"));
}

#[test]
fn the_address_rule_stands_once() {
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/../../crates/pve-types/src/address/mod.rs");
    let source = std::fs::read_to_string(source).unwrap();
    let rule: Vec<&str> = source
        .lines()
        .filter_map(|line| line.strip_prefix("//! "))
        .filter(|l| l.starts_with('|'))
        .collect();
    assert!(rule.len() > 8, "{rule:?}");
    assert!(
        page().contains(&(rule.join("\n") + "\n")),
        "docs/inventory.md has another rule than\n{}",
        rule.join("\n")
    );
}
