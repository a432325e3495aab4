//! A fleet that means harm, read by the real Ansible: nothing of it runs on the control node.

use serde_json::{Value, json};

use crate::ansible::cores;
use crate::fleet::{Fleet, Running, config, hosts, interface, printed, row};

const MAC: &str = "BC:24:11:AA:BB:01";
const EVIL: &str = "{{ 'eval' ~ 'uated' }}";

/// Names that are templates, other things to Ansible, or break what prints them.
const NAMES: [&str; 14] = [
    EVIL,
    "{% for x in [1] %}eval{% endfor %}uated",
    "quote\"'\\n",
    "line\u{2028}separator\u{85}\u{1f600}",
    "localhost",
    "all",
    "pve_guests",
    "_meta",
    "7up",
    "--version",
    "a:b,c[1:3]!&~",
    "ip6-localhost",
    "127.1",
    "",
];

fn fleet() -> Running {
    let mut fleet = Fleet::default();
    for (index, name) in NAMES.iter().enumerate() {
        let vmid = 100 + u32::try_from(index).unwrap();
        let mut its = row(vmid, name);
        its["tags"] = format!("{EVIL};tag-{index};hosts;vars").into();
        its["pool"] = EVIL.into();
        let mut its_config = config(MAC);
        its_config["ostype"] = EVIL.into();
        its_config["description"] = EVIL.into();
        its_config["ciuser"] = EVIL.into();
        its_config[EVIL] = EVIL.into();
        // keys by which Ansible takes a mapping for something else
        for key in ["__ansible_unsafe", "__ansible_vault", "__ansible_type", "__ansible-unsafe"] {
            its_config[key] = EVIL.into();
        }
        its_config["net1"] =
            format!("virtio=BC:24:11:00:00:99,__ansible_unsafe={EVIL},__ansible_vault=x").into();
        its_config["smbios1"] = format!("uuid={EVIL}").into();
        fleet = fleet.row(its).data(&format!("/nodes/pve1/qemu/{vmid}/config"), its_config).data(
            &crate::fleet::agent(vmid),
            json!({"result": [interface(EVIL, "bc:24:11:aa:bb:01", "10.0.0.5"),
                                  interface("x", "bc:24:11:aa:bb:01", EVIL)]}),
        );
    }
    // a refusal in the words of the guest
    let refused = row(200, "refused");
    fleet
        .row(refused)
        .data("/nodes/pve1/qemu/200/config", config(MAC))
        .refusal(&crate::fleet::agent(200), 500, "Agent error: {{ 'eval' ~ 'uated' }}")
        .start()
}

#[test]
fn names_are_safe_unique_and_no_groups() {
    let inventory = fleet().list();
    let guests = hosts(&inventory, "pve_guests");
    assert_eq!(guests.len(), NAMES.len() + 1);
    for guest in &guests {
        assert!(inventory.get(guest).is_none(), "{guest} is a group as well");
        assert!(!["all", "ungrouped", "localhost", "_meta"].contains(&guest.as_str()));
        assert!(
            guest.starts_with(|c: char| c.is_ascii_alphanumeric())
                && guest.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c)),
            "{guest}"
        );
    }
    for (group, content) in inventory.as_object().unwrap() {
        assert!(group.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'), "{group}");
        if group != "_meta" {
            assert!(group.starts_with("pve_"), "{group}: {content}");
        }
    }
    // every string that came from the cluster is marked
    for (host, vars) in inventory["_meta"]["hostvars"].as_object().unwrap() {
        for (name, value) in vars.as_object().unwrap() {
            unmarked(value, &mut |text| {
                assert!(!text.contains("{{") && !text.contains("{%"), "{host}.{name}: {text}");
            });
        }
    }
}

/// Every string outside of a mark.
fn unmarked(value: &Value, found: &mut dyn FnMut(&str)) {
    match value {
        Value::String(text) => found(text),
        Value::Array(items) => items.iter().for_each(|item| unmarked(item, found)),
        Value::Object(map) if map.contains_key("__ansible_unsafe") => assert_eq!(map.len(), 1),
        Value::Object(map) => map.values().for_each(|item| unmarked(item, found)),
        _ => {}
    }
}

#[test]
fn ansible_takes_the_inventory_without_a_word() {
    for configuration in ["facts: slim\n", "facts: full\n"] {
        ansible_takes(configuration);
    }
}

fn ansible_takes(configuration: &str) {
    let fleet = fleet();
    fleet.write("pve_inventory.cfg", configuration);
    for core in cores() {
        let run = |arguments: &[&str]| {
            let mut command = core.program(fleet.folder(), "ansible-inventory", arguments);
            core.quiet(command.envs(fleet.environment()))
        };
        let inventory: Value = serde_json::from_str(&run(&["--list"]).stdout).unwrap();
        let hostvars = inventory["_meta"]["hostvars"].as_object().unwrap();
        assert_eq!(hostvars.len(), NAMES.len() + 1, "{core:?}");
        if configuration.contains("full") {
            let config = &hostvars["7up"]["pve_config"];
            assert!(config["net0"]["bridge"] != Value::Null, "{core:?} {config}");
        }
        let graph = run(&["--graph"]);
        assert!(graph.stdout.contains("@pve_guests:"), "{core:?} {}", graph.stdout);
    }
}

#[test]
fn nothing_of_the_cluster_is_evaluated() {
    let fleet = fleet();
    fleet.write("pve_inventory.cfg", "facts: full\ncloud_init_user: true\n");
    let message = "msg={{ [pve_name, pve_tags, pve_pool, pve_status, pve_address_reason | default(''), \
                   pve_host_key_alias, pve_config.description | default(''), pve_config.ostype, pve_interfaces | default([]), \
                   hostvars[inventory_hostname].pve_name] | to_json }}";
    let arguments = ["pve_guests", "-c", "local", "-m", "ansible.builtin.debug", "-a", message];
    for core in cores() {
        let mut command = core.program(fleet.folder(), "ansible", &arguments);
        let ran = printed(command.envs(fleet.environment()));
        assert_eq!(ran.status, Some(0), "{core:?} {ran:?}");
        assert!(ran.stdout.contains("'eval' ~ 'uated'"), "{core:?} {}", ran.stdout);
        assert!(!ran.stdout.contains("evaluated"), "{core:?} {}", ran.stdout);
    }
}

#[test]
fn a_failed_inventory_fails_the_run() {
    for core in cores() {
        let fleet =
            Fleet::default().refusal("/cluster/resources", 401, "Authentication failed!").start();
        let mut command = core.program(fleet.folder(), "ansible-inventory", &["--list"]);
        command.env("ANSIBLE_INVENTORY_ENABLED", "script");
        let ran = printed(command.envs(fleet.environment()));
        assert_ne!(ran.status, Some(0), "{core:?} {ran:?}");
        assert!(ran.stderr.contains("does not accept token"), "{core:?} {ran:?}");
        assert_eq!(fleet.calls().len(), 1, "{core:?}");
    }
}
