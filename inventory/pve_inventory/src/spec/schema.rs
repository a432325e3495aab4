//! What may stand in a spec. A key that nobody reads is an error here: in a file about a machine, a
//! misspelt word must not be silence.
//!
//! Values may be templates, which only Ansible can fill in; their types are the module's to check.

use pve_types::{FAMILIES, NodeName, Vmid};
use serde_json::{Map, Value};

use super::vars;
use crate::names;

const KEYS: [&str; 12] = [
    "kind",
    "cluster",
    "vmid",
    "node",
    "image",
    "hardware",
    "cloud_init",
    "groups",
    "packages",
    "archive_snapshot",
    "timezone",
    "vars",
];

/// The options of `pve_vm` that role `pve_guest` hands over.
const HARDWARE: [&str; 66] = [
    "acpi",
    "affinity",
    "agent",
    "amd_sev",
    "arch",
    "args",
    "audio",
    "autostart",
    "balloon",
    "bios",
    "boot",
    "bootdisk",
    "config",
    "cores",
    "cpu",
    "cpulimit",
    "cpuunits",
    "description",
    "efidisk0",
    "freeze",
    "hookscript",
    "hostpci",
    "hotplug",
    "hugepages",
    "ide",
    "ivshmem",
    "keephugepages",
    "keyboard",
    "kvm",
    "localtime",
    "machine",
    "memory",
    "migrate_downtime",
    "migrate_speed",
    "net",
    "numa",
    "numa_enabled",
    "onboot",
    "ostype",
    "parallel",
    "protection",
    "reboot",
    "rng0",
    "sata",
    "scsi",
    "scsihw",
    "serial",
    "shares",
    "smbios",
    "sockets",
    "spice_enhancements",
    "startdate",
    "startup",
    "tablet",
    "tags",
    "tdf",
    "tpmstate0",
    "unused",
    "usb",
    "vcpus",
    "vga",
    "virtio",
    "virtiofs",
    "vmgenid",
    "vmstatestorage",
    "watchdog",
];

/// What cloud-init is told, and the storage its drive is on.
const CLOUD_INIT: [&str; 9] = [
    "cicustom",
    "citype",
    "ciupgrade",
    "ciuser",
    "ipconfig",
    "nameservers",
    "searchdomains",
    "sshkeys",
    "storage",
];

/// How many NICs there are, each with an address.
const NETS: u16 = 32;

/// Checks a spec and gives its vmid, if it has one that is no template.
pub(crate) fn check(spec: &Map<String, Value>) -> Result<Option<Vmid>, String> {
    keys("", spec, &KEYS)?;
    match spec.get("kind") {
        Some(Value::String(kind)) if kind == "vm" => {}
        Some(Value::Null) | None => return Err("it has no kind: say kind: vm".to_owned()),
        Some(other) => return Err(format!("kind is {other}: only vm is known")),
    }
    for key in ["cluster", "node", "image", "archive_snapshot", "timezone"] {
        text(spec, key)?;
    }
    if let Some(Value::String(node)) = spec.get("node")
        && !is_template(node)
    {
        node.parse::<NodeName>().map_err(|error| format!("node: {error}"))?;
    }
    hardware(spec)?;
    if let Some(init) = mapping(spec, "cloud_init")? {
        keys("cloud_init.", init, &CLOUD_INIT)?;
        slots("cloud_init.ipconfig", init.get("ipconfig"), ("ipconfig", NETS))?;
    }
    groups(spec)?;
    for package in list(spec, "packages")? {
        let marked = |map: &Map<String, Value>| {
            !map.is_empty() && map.keys().all(|key| key.starts_with("__ansible_"))
        };
        if !(package.is_string() || package.is_null() || package.as_object().is_some_and(marked)) {
            return Err(format!("packages: {package} is no package; allowed are names as texts"));
        }
    }
    variables(spec)?;
    vmid(spec.get("vmid"))
}

fn vmid(value: Option<&Value>) -> Result<Option<Vmid>, String> {
    match value {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) if is_template(text) => Ok(None),
        Some(value) => {
            let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            if text.starts_with('0') {
                // a text to one reader of YAML, and to another a number to the base of eight
                return Err(format!(
                    "vmid: '{text}' begins with a zero; allowed are numbers from 100 to 999999999 \
                     without it"
                ));
            }
            text.parse().map(Some).map_err(|error| format!("vmid: {error}"))
        }
    }
}

fn hardware(spec: &Map<String, Value>) -> Result<(), String> {
    let Some(hardware) = mapping(spec, "hardware")? else { return Ok(()) };
    keys("hardware.", hardware, &HARDWARE)?;
    // addresses are cloud-init's, and not said under hardware
    for (family, count) in FAMILIES.into_iter().filter(|(family, _)| *family != "ipconfig") {
        slots(&format!("hardware.{family}"), hardware.get(family), (family, count))?;
    }
    Ok(())
}

fn groups(spec: &Map<String, Value>) -> Result<(), String> {
    for group in list(spec, "groups")?.iter().filter(|group| !group.is_null()) {
        let name = group.as_str().unwrap_or_default();
        if names::is_reserved(name) {
            return Err(format!(
                "groups: '{name}' is reserved: Ansible means something else by it; allowed is any \
                 other name"
            ));
        }
        if !names::is_group(name) {
            return Err(format!("groups: {group} cannot be a group: letters, digits and '_'"));
        }
        if name.starts_with("pve_") {
            return Err(format!(
                "groups: '{name}' begins with pve_, which this inventory's own do"
            ));
        }
    }
    Ok(())
}

fn variables(spec: &Map<String, Value>) -> Result<(), String> {
    for name in mapping(spec, "vars")?.into_iter().flat_map(Map::keys) {
        vars::check(name)?;
    }
    Ok(())
}

fn keys(place: &str, map: &Map<String, Value>, allowed: &[&str]) -> Result<(), String> {
    match map.keys().find(|key| !allowed.contains(&key.as_str())) {
        Some(key) => Err(format!("unknown key '{place}{key}'; allowed are {}", allowed.join(", "))),
        None => Ok(()),
    }
}

/// `net0`, `scsi1`, ...: a family and a number below its count.
fn slots(place: &str, value: Option<&Value>, (family, count): (&str, u16)) -> Result<(), String> {
    let map = match value {
        None | Some(Value::Null) => return Ok(()),
        Some(Value::String(text)) if is_template(text) => return Ok(()),
        Some(Value::Object(map)) => map,
        Some(_) => return Err(format!("{place} must be a mapping such as {family}0: ...")),
    };
    for key in map.keys() {
        let number = key.strip_prefix(family).and_then(|number| number.parse::<u16>().ok());
        if !number.is_some_and(|n| n < count && *key == format!("{family}{n}")) {
            let last = count - 1;
            return Err(match last {
                0 => format!("unknown key '{place}.{key}'; allowed is {family}0"),
                _ => {
                    format!("unknown key '{place}.{key}'; allowed are {family}0 to {family}{last}")
                }
            });
        }
    }
    Ok(())
}

fn text(map: &Map<String, Value>, key: &str) -> Result<(), String> {
    match map.get(key) {
        None | Some(Value::Null | Value::String(_)) => Ok(()),
        Some(other) => Err(format!("{key} is {other}: it must be a text")),
    }
}

fn list<'a>(map: &'a Map<String, Value>, key: &str) -> Result<&'a [Value], String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(Value::String(text)) if is_template(text) && key != "groups" => Ok(&[]),
        Some(other) => Err(format!("{key} is {other}: it must be a list")),
    }
}

fn mapping<'a>(
    map: &'a Map<String, Value>,
    key: &str,
) -> Result<Option<&'a Map<String, Value>>, String> {
    match map.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(other) => Err(format!("{key} is {other}: it must be a mapping")),
    }
}

fn is_template(text: &str) -> bool {
    text.contains("{{") || text.contains("{%")
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn checked(value: Value) -> Result<Option<Vmid>, String> {
        let Value::Object(map) = value else { panic!("{value}") };
        check(&map)
    }

    #[test]
    fn a_spec_of_every_key_is_taken() {
        let spec = json!({
            "kind": "vm", "vmid": 201, "node": "pve1", "image": "local:import/x.qcow2",
            "hardware": {
                "cores": 2, "memory": "{{ guest_memory }}", "tags": ["a"],
                "net": {"net0": "virtio,bridge=vmbr0"}, "scsi": {"scsi0": {"storage": "local", "size": "8G"}},
            },
            "cloud_init": {"ciuser": "debian", "ipconfig": {"ipconfig0": "ip=dhcp"}, "ciupgrade": false},
            "groups": ["web"], "packages": "{{ web_packages }}", "archive_snapshot": "20250601T000000Z",
            "timezone": "Etc/UTC", "vars": {"web_port": 80},
        });
        assert_eq!(checked(spec).unwrap().map(Vmid::get), Some(201));
        for vmid in [json!(null), json!("{{ guest_vmid }}")] {
            assert_eq!(checked(json!({"kind": "vm", "vmid": vmid})).unwrap(), None);
        }
        assert_eq!(
            checked(json!({"kind": "vm", "vmid": "201"})).unwrap().map(Vmid::get),
            Some(201)
        );
    }

    #[test]
    fn what_is_wrong_is_named_with_what_is_allowed() {
        for (spec, text) in [
            (json!({}), "it has no kind: say kind: vm"),
            (json!({"kind": "ct"}), "kind is \"ct\": only vm is known"),
            (
                json!({"kind": "vm", "memory": 1}),
                "unknown key 'memory'; allowed are kind, cluster, vmid, node,",
            ),
            (
                json!({"kind": "vm", "hardware": {"core": 1}}),
                "unknown key 'hardware.core'; allowed are acpi,",
            ),
            (
                json!({"kind": "vm", "hardware": {"net": {"eth0": ""}}}),
                "unknown key 'hardware.net.eth0'; allowed are net0 to net31",
            ),
            (
                json!({"kind": "vm", "hardware": {"net": "virtio"}}),
                "hardware.net must be a mapping such as net0: ...",
            ),
            (
                json!({"kind": "vm", "cloud_init": {"user": ""}}),
                "unknown key 'cloud_init.user'; allowed are cicustom,",
            ),
            (
                json!({"kind": "vm", "cloud_init": {"ipconfig": {"net0": ""}}}),
                "allowed are ipconfig0 to ipconfig31",
            ),
            (json!({"kind": "vm", "vmid": 5}), "vmid: '5' is not a vmid: a number from 100"),
            (
                json!({"kind": "vm", "vmid": "0300"}),
                "vmid: '0300' begins with a zero; allowed are numbers from 100 to 999999999",
            ),
            (
                json!({"kind": "vm", "hardware": {"net": {"net99": ""}}}),
                "unknown key 'hardware.net.net99'; allowed are net0 to net31",
            ),
            (
                json!({"kind": "vm", "hardware": {"scsi": {"scsi01": ""}}}),
                "unknown key 'hardware.scsi.scsi01'; allowed are scsi0 to scsi30",
            ),
            (
                json!({"kind": "vm", "hardware": {"audio": {"audio1": ""}}}),
                "unknown key 'hardware.audio.audio1'; allowed is audio0",
            ),
            (
                json!({"kind": "vm", "packages": [{"a": "b"}]}),
                "packages: {\"a\":\"b\"} is no package; allowed are names as texts",
            ),
            (json!({"kind": "vm", "packages": ["a", 7]}), "packages: 7 is no package"),
            (json!({"kind": "vm", "packages": [{}]}), "packages: {} is no package"),
            (json!({"kind": "vm", "vars": {"groups": []}}), "vars: 'groups' is reserved"),
            (json!({"kind": "vm", "vmid": "web"}), "vmid: 'web' is not a vmid"),
            (json!({"kind": "vm", "node": "pve1.lan"}), "node: 'pve1.lan' is not a node"),
            (json!({"kind": "vm", "image": 5}), "image is 5: it must be a text"),
            (json!({"kind": "vm", "groups": "web"}), "groups is \"web\": it must be a list"),
            (json!({"kind": "vm", "groups": ["a-b"]}), "groups: \"a-b\" cannot be a group"),
            (json!({"kind": "vm", "groups": ["all"]}), "groups: 'all' is reserved: "),
            (json!({"kind": "vm", "groups": ["ungrouped"]}), "groups: 'ungrouped' is reserved: "),
            (json!({"kind": "vm", "groups": ["localhost"]}), "groups: 'localhost' is reserved: "),
            (json!({"kind": "vm", "groups": ["_meta"]}), "groups: '_meta' is reserved: "),
            (json!({"kind": "vm", "groups": ["pve_x"]}), "begins with pve_"),
            (json!({"kind": "vm", "vars": {"a-b": 1}}), "vars: 'a-b' cannot be a variable"),
            (json!({"kind": "vm", "vars": {"pve_spec": 1}}), "begins with pve_"),
            (json!({"kind": "vm", "vars": ["a"]}), "it must be a mapping"),
        ] {
            let error = checked(spec).unwrap_err();
            assert!(error.contains(text), "{error}");
        }
    }

    #[test]
    fn the_role_hands_over_exactly_these_keys() {
        let role = concat!(env!("CARGO_MANIFEST_DIR"), "/../../roles/pve_guest/tasks/guest.yml");
        let tasks = std::fs::read_to_string(role).unwrap();
        for (variable, keys) in
            [("pve_guest_hardware.", &HARDWARE[..]), ("pve_guest_cloud_init.", &CLOUD_INIT)]
        {
            let mut handed: Vec<&str> =
                tasks.split(variable).skip(1).filter_map(|rest| rest.split(' ').next()).collect();
            handed.sort_unstable();
            assert_eq!(handed, keys, "{variable}");
        }
    }
}
