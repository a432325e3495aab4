//! `/nodes` and what a node says of itself.

use serde_json::{Value, json};

use super::super::call::{Call, Route};
use super::super::error::ApiResult;
use super::super::version;
use crate::state::Node;

pub(crate) const ROUTES: &[Route] = &[
    ("GET", "/nodes", list),
    ("GET", "/nodes/{node}/version", version::version),
    ("GET", "/nodes/{node}/status", status),
    ("GET", "/nodes/{node}/network", network),
    ("GET", "/nodes/{node}/capabilities/qemu/machines", machines),
    ("GET", "/nodes/{node}/aplinfo", appliances),
];

/// Bytes of every file system of the lab.
pub(crate) const TOTAL: u64 = 270_553_174_016;
/// Bytes in use.
pub(crate) const USED: u64 = 23_317_131_264;
/// Bytes free.
pub(crate) const FREE: u64 = 74_255_581_184;
const MEMORY: u64 = 25_276_514_304;
const MEMORY_USED: u64 = 1_679_020_032;

/// A node in `/cluster/resources`.
pub(crate) fn resource_row(node: &Node, audits: bool) -> Value {
    let mut row = json!({"id": format!("node/{}", node.name), "type": "node", "node": node.name,
        "level": "", "status": if node.offline { "offline" } else { "online" },
        "cgroup-mode": 2});
    if audits && !node.offline {
        row["cpu"] = json!(0.02);
        row["maxcpu"] = json!(2);
        row["mem"] = json!(MEMORY_USED);
        row["maxmem"] = json!(MEMORY);
        row["disk"] = json!(USED);
        row["maxdisk"] = json!(TOTAL);
        row["uptime"] = json!(4678);
    }
    row
}

fn list(call: Call) -> ApiResult {
    let fingerprint = call.shared.fingerprint.clone();
    let audits = |name: &str| call.allows(&format!("/nodes/{name}"), "Sys.Audit");
    let nodes: Vec<Node> = call.state().cluster.nodes.values().cloned().collect();
    Ok(nodes
        .iter()
        .map(|node| {
            let mut row = resource_row(node, audits(&node.name));
            if let Some(map) = row.as_object_mut() {
                map.shift_remove("cgroup-mode");
            }
            row["ssl_fingerprint"] = json!(fingerprint);
            row
        })
        .collect())
}

fn status(call: Call) -> ApiResult {
    let version = if call.shared.old() { "8.4.1" } else { "9.2.11" };
    let kernel = "6.14.0-1-pve";
    let build = "#1 SMP PREEMPT_DYNAMIC";
    let mut row = json!({
        "boot-info": {"mode": "legacy-bios"},
        "cpu": 0.02, "idle": 0, "wait": 0, "uptime": 4765,
        "cpuinfo": {"cores": 2, "cpus": 2, "sockets": 1, "flags": "fpu vme de pse",
            "hvm": "1", "mhz": "2600.000", "model": "AMD EPYC", "user_hz": 100},
        "current-kernel": {"machine": "x86_64", "release": kernel, "sysname": "Linux",
            "version": build},
        "ksm": {"shared": 0},
        "kversion": format!("Linux {kernel} {build}"),
        "loadavg": ["0.69", "0.63", "1.68"],
        "memory": {"available": MEMORY - MEMORY_USED, "free": MEMORY - MEMORY_USED,
            "total": MEMORY, "used": MEMORY_USED},
        "pveversion": format!("pve-manager/{version}/14a22df35955d97d"),
        "rootfs": {"avail": FREE, "free": TOTAL - USED, "total": TOTAL, "used": USED},
        "swap": {"free": 0, "total": 0, "used": 0},
    });
    if call.shared.old() {
        if let Some(memory) = row["memory"].as_object_mut() {
            memory.shift_remove("available");
        }
    } else {
        row["cpuinfo"]["family"] = json!("25");
        row["cpuinfo"]["vendor"] = json!("AuthenticAMD");
    }
    Ok(row)
}

fn network(call: Call) -> ApiResult {
    let state = call.state();
    let Some(node) = state.cluster.nodes.get(call.node()) else { return Ok(json!([])) };
    let kind = call.params.get("type");
    let bridges = node.bridges.iter().enumerate().map(|(index, bridge)| {
        let mut row = json!({"iface": bridge, "type": "bridge", "priority": index + 4, "active": 1,
            "autostart": 1, "method": "manual", "method6": "manual", "bridge_ports": "",
            "bridge_stp": "off", "bridge_fd": "0", "families": ["inet"]});
        if index == 0 {
            row["method"] = json!("static");
            row["address"] = json!(node.address);
            row["cidr"] = json!(format!("{}/24", node.address));
            row["netmask"] = json!("24");
        }
        row
    });
    Ok(bridges
        .filter(|_| {
            kind.is_none_or(|kind| matches!(kind, "bridge" | "any_bridge" | "any_local_bridge"))
        })
        .collect())
}

fn machines(_call: Call) -> ApiResult {
    let mut rows = Vec::new();
    for version in ["10.0+pve1", "10.0", "9.2+pve1", "9.2", "9.1", "9.0"] {
        for (kind, name) in [("i440fx", "pc-i440fx"), ("q35", "pc-q35")] {
            let mut row = json!({"id": format!("{name}-{version}"), "type": kind,
                "version": version});
            if version.ends_with("+pve1") {
                row["changes"] =
                    json!("Set host_mtu vNIC option even with default value for migration compat.");
            }
            rows.push(row);
        }
    }
    Ok(json!(rows))
}

fn appliances(_call: Call) -> ApiResult {
    Ok(json!([]))
}
