//! The page about the inventory says what the program does.

use serde_json::json;

use crate::ansible::{Core, cores};
use crate::fleet::{Fleet, Running, config, hosts, interface, vars};

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
    fleet.write(
        "pve_inventory.cfg",
        "guests: guests\nvalidate_certs: false\nfacts: full\nnodes: true\n",
    );
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
    let status = json!([{"type": "node", "name": "pve1", "ip": "10.0.99.1", "online": 1}]);
    let fleet = fleet().data("/cluster/status", status).start();
    fleet.write("30-constructed.yml", example);
    for (core, nodes) in cores().iter().flat_map(|core| [(core, false), (core, true)]) {
        fleet.write("pve_inventory.cfg", &format!("nodes: {nodes}\n"));
        let inventory = layered(core, &fleet);
        assert_eq!(hosts(&inventory, "reachable"), ["web"], "{core:?}");
        assert_eq!(hosts(&inventory, "kind_qemu"), ["db", "web"], "{core:?}");
        assert_eq!(hosts(&inventory, "kind_node").len(), usize::from(nodes), "{core:?}");
        // newer cores keep what is made of a marked value marked
        assert!(vars(&inventory, "web")["first_tag"].to_string().contains("none"), "{core:?}");
    }
}

fn layered(core: &Core, fleet: &Running) -> serde_json::Value {
    let arguments = ["-i", "30-constructed.yml", "--list"];
    let mut command = core.program(fleet.folder(), "ansible-inventory", &arguments);
    serde_json::from_str(&core.quiet(command.envs(fleet.environment())).stdout).unwrap()
}

#[test]
fn a26_an_expression_for_guests_is_no_error_at_nodes() {
    let status = json!([{"type": "node", "name": "pve1", "ip": "10.0.99.1", "online": 1}]);
    let fleet = fleet().data("/cluster/status", status).start();
    fleet.write("pve_inventory.cfg", "nodes: true\nfacts: full\n");
    // the fact is the guests' alone, and the condition is the one that the page gives
    let condition = "pve_kind != 'node' and ";
    assert!(page().contains(condition));
    fleet.write(
        "30-constructed.yml",
        &format!(
            "plugin: ansible.builtin.constructed\nstrict: true\n\
             groups:\n  bridged: {condition}pve_config.net0.bridge == 'vmbr0'\n\
             compose:\n  bridge: pve_config.net0.bridge | default('')\n"
        ),
    );
    for core in cores() {
        let inventory = layered(core, &fleet);
        assert_eq!(hosts(&inventory, "bridged"), ["db", "web"], "{core:?}");
        assert!(vars(&inventory, "web")["bridge"].to_string().contains("vmbr0"), "{core:?}");
        assert_eq!(hosts(&inventory, "pve_nodes"), ["pve1"], "{core:?}");
    }
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
