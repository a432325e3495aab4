//! Many guests at once, made from a seed: for inventories, and for data that means harm.

use std::time::Duration;

use serde_json::{Value, json};

use crate::driver::{AgentScript, GuestDefinition, Nic, StateOnly};
use crate::start;
use crate::state::config::{Config, Section};
use crate::state::guest::Running;
use crate::state::{Guest, Kind, Pool, State, now};

/// A fleet of guests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fleet {
    /// How many guests, containers included.
    pub guests: u32,
    /// On how many nodes: `pve1`, `pve2`, ...
    pub nodes: u32,
    /// The same seed makes the same fleet.
    pub seed: u64,
    /// How many of a hundred guests are containers.
    pub containers: u32,
    /// How many of a hundred are stopped.
    pub stopped: u32,
    /// How many of a hundred running VMs have an agent that does not answer.
    pub silent: u32,
    /// How long an agent takes.
    pub agent_latency: Duration,
    /// Names, notes, tags and agent answers that try to do harm.
    pub hostile: bool,
}

impl Default for Fleet {
    fn default() -> Self {
        Self {
            guests: 100,
            nodes: 3,
            seed: 1,
            containers: 10,
            stopped: 10,
            silent: 0,
            agent_latency: Duration::ZERO,
            hostile: false,
        }
    }
}

/// A small generator of numbers; the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn percent(&mut self, of: u32) -> bool {
        self.next() % 100 < u64::from(of)
    }
}

const TAGS: &[&str] = &["prod", "test", "web", "db", "cache"];

/// Texts that are templates, options, variables or markup to whoever is careless.
const HOSTILE: &[&str] = &[
    "{{ lookup('pipe', 'touch /tmp/owned') }}",
    "{% for x in range(9) %}x{% endfor %}",
    "!unsafe",
    "\u{1b}[2J",
    "</script><script>",
    "a\": {\"b",
    "ansible_connection=local",
    "\u{202e}txet",
];

/// The names that must never become hosts, and one that is a template.
const HOSTILE_NAMES: &[&str] = &["localhost", "all", "ungrouped", "_meta", "{{ 7*7 }}", "-h"];

/// Adds a fleet to a state.
pub(crate) fn populate(state: &mut State, fleet: &Fleet, driver: &StateOnly) {
    state.volatile = true;
    let mut numbers = Numbers(fleet.seed);
    for index in 1..=fleet.nodes.max(1) {
        let name = format!("pve{index}");
        let number = usize::try_from(index).unwrap_or(1);
        state
            .cluster
            .nodes
            .entry(name.clone())
            .or_insert_with(|| start::node(&name, number, &["vmbr0", "vmbr1"]));
    }
    let mut pooled = Vec::new();
    for index in 0..fleet.guests {
        let vmid = 100 + index;
        let node = format!("pve{}", index % fleet.nodes.max(1) + 1);
        let guest = if numbers.percent(fleet.containers) {
            container(vmid, &node, fleet, &mut numbers)
        } else {
            vm(vmid, &node, fleet, &mut numbers, driver)
        };
        if numbers.percent(20) {
            pooled.push(vmid);
        }
        state.guests.insert(vmid, guest);
    }
    state.cluster.pools.insert("fleet".to_owned(), Pool { guests: pooled, ..Pool::default() });
}

fn mac(vmid: u32) -> String {
    let [_, b, c, d] = vmid.to_be_bytes();
    format!("BC:24:11:{b:02X}:{c:02X}:{d:02X}")
}

fn address(vmid: u32) -> String {
    let [_, b, c, d] = vmid.to_be_bytes();
    format!("10.{b}.{c}.{d}")
}

fn running(vmid: u32) -> Running {
    Running { pid: 1000 + vmid, since: now(), paused: false, machine: "pc-i440fx-10.0".to_owned() }
}

fn common(vmid: u32, name_key: &str, fleet: &Fleet, numbers: &mut Numbers) -> Section {
    let pick = |numbers: &mut Numbers, from: &[&str]| {
        from[usize::try_from(numbers.next()).unwrap_or(0) % from.len()].to_owned()
    };
    let mut main = Section::from([
        (name_key.to_owned(), format!("guest{vmid}")),
        ("memory".to_owned(), "512".to_owned()),
        ("cores".to_owned(), "1".to_owned()),
        ("tags".to_owned(), pick(numbers, TAGS)),
    ]);
    if fleet.hostile {
        if numbers.percent(30) {
            main.insert(name_key.to_owned(), pick(numbers, HOSTILE_NAMES));
        }
        main.insert("description".to_owned(), pick(numbers, HOSTILE));
        main.insert("tags".to_owned(), pick(numbers, &["all", "_meta", "a.b-c", "1", "ungrouped"]));
    }
    main
}

fn container(vmid: u32, node: &str, fleet: &Fleet, numbers: &mut Numbers) -> Guest {
    let mut main = common(vmid, "hostname", fleet, numbers);
    let mac = mac(vmid);
    main.insert("ostype".to_owned(), "debian".to_owned());
    main.insert("rootfs".to_owned(), format!("local:{vmid}/vm-{vmid}-disk-0.raw,size=1G"));
    main.insert(
        "net0".to_owned(),
        format!("name=eth0,bridge=vmbr0,hwaddr={mac},ip=dhcp,type=veth"),
    );
    let mut guest = Guest::new(vmid, Kind::Lxc, node, Config { main, ..Config::default() }, 0);
    if !numbers.percent(fleet.stopped) {
        guest.running = Some(running(vmid));
        let (mac, ip) = (mac.to_lowercase(), address(vmid));
        guest.interfaces = Some(json!([
            {"name": "lo", "hardware-address": "00:00:00:00:00:00", "hwaddr": "00:00:00:00:00:00",
             "inet": "127.0.0.1/8", "inet6": "::1/128", "ip-addresses": [
                {"ip-address": "127.0.0.1", "ip-address-type": "inet", "prefix": "8"},
                {"ip-address": "::1", "ip-address-type": "inet6", "prefix": "128"}]},
            {"name": "eth0", "hardware-address": mac, "hwaddr": mac, "inet": format!("{ip}/8"),
             "ip-addresses": [
                {"ip-address": ip, "ip-address-type": "inet", "prefix": "8"}]},
        ]));
    }
    guest
}

fn interface(name: &str, mac: &str, ip: &str, prefix: u8) -> Value {
    json!({"name": name, "hardware-address": mac, "ip-addresses": [
        {"ip-address": ip, "ip-address-type": "ipv4", "prefix": prefix}]})
}

fn vm(vmid: u32, node: &str, fleet: &Fleet, numbers: &mut Numbers, driver: &StateOnly) -> Guest {
    let mut main = common(vmid, "name", fleet, numbers);
    let mac = mac(vmid);
    let uuid = format!("00000000-0000-4000-8000-{vmid:012}");
    for (key, value) in [
        ("agent", "1".to_owned()),
        ("boot", "order=scsi0;net0".to_owned()),
        ("net0", format!("virtio={mac},bridge=vmbr0")),
        ("ostype", "l26".to_owned()),
        ("scsi0", format!("local:{vmid}/vm-{vmid}-disk-0.qcow2,size=8G")),
        ("smbios1", format!("uuid={uuid}")),
    ] {
        main.insert(key.to_owned(), value);
    }
    let mut guest = Guest::new(vmid, Kind::Qemu, node, Config { main, ..Config::default() }, 0);
    if numbers.percent(fleet.stopped) {
        return guest;
    }
    guest.running = Some(running(vmid));
    let mut script = AgentScript { latency: fleet.agent_latency, ..AgentScript::default() };
    if numbers.percent(fleet.silent) {
        script.not_running = true;
    }
    let mut interfaces = vec![
        interface("lo", "00:00:00:00:00:00", "127.0.0.1", 8),
        interface("docker0", "02:42:ac:11:00:01", "172.17.0.1", 16),
        interface("eth0", &mac.to_lowercase(), &address(vmid), 8),
    ];
    if fleet.hostile {
        interfaces.insert(0, interface(HOSTILE[0], "zz", HOSTILE[1], 24));
    }
    script.answers.insert("guest-network-get-interfaces".to_owned(), Value::Array(interfaces));
    driver.running_already(GuestDefinition {
        vmid,
        name: guest.name(),
        node: node.to_owned(),
        memory: 512,
        cpus: 1,
        nics: vec![Nic {
            slot: 0,
            model: "virtio".to_owned(),
            mac,
            bridge: Some("vmbr0".to_owned()),
            tag: None,
            link_up: true,
        }],
        disks: Vec::new(),
        seed: None,
        agent: true,
        uuid,
    });
    driver.script(vmid, script);
    guest
}
