//! DHCP, router advertisements and names, by dnsmasq in the lab's namespace.

use std::path::Path;
use std::process::{Child, Stdio};

use anyhow::{Context, Result};

use super::plan::Plan;
use crate::guests::cgroup::Cgroup;
use crate::image::SERVER_NAMES;

/// The domain of guests that are given no other.
pub(crate) const DOMAIN: &str = "lab.test";

/// Starts dnsmasq as a child in the group that the lab's own processes are in.
pub(super) fn start(plan: &Plan, group: &Cgroup, state: &Path) -> Result<Child> {
    let log =
        std::fs::File::create(state.join("dnsmasq.log")).context("cannot write dnsmasq's log")?;
    let mut command = group.command("ip", None);
    command
        .args(["netns", "exec", &plan.name, "dnsmasq"])
        .args(arguments(plan, super::has_ipv6()))
        .arg(format!("--dhcp-leasefile={}", state.join("dnsmasq.leases").display()))
        .stdout(Stdio::null())
        .stderr(log);
    // Ctrl-C in the terminal of a lab in the foreground is for the lab alone.
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().context("cannot start dnsmasq")
}

fn arguments(plan: &Plan, ipv6: bool) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--keep-in-foreground",
        "--log-facility=-",
        "--user=root",
        "--group=root",
        "--conf-file=/dev/null",
        "--pid-file=",
        "--no-resolv",
        "--no-hosts",
        "--except-interface=lo",
        "--bind-interfaces",
        "--dhcp-authoritative",
        // It would wait 3 s for an answer from each address before it gives it away.
        "--no-ping",
        // Other names do not exist, which is said at once instead of not at all.
        "--address=/#/",
    ]
    .map(str::to_owned)
    .to_vec();
    arguments.push(format!("--domain={DOMAIN}"));
    if ipv6 {
        // Without advertisements bookworm waits 12 s for a router before it is online.
        arguments.push("--enable-ra".to_owned());
    }
    for bridge in &plan.bridges {
        let name = &bridge.name;
        arguments.push(format!("--interface={name}"));
        arguments.push(format!(
            "--dhcp-range={},{},255.255.255.0,1h",
            bridge.address(100),
            bridge.address(199)
        ));
        if ipv6 {
            arguments.push(format!("--dhcp-range=::,constructor:{name},ra-stateless"));
        }
    }
    if let Some(bridge) = plan.bridges.first() {
        for server in SERVER_NAMES {
            arguments.push(format!("--address=/{server}/{}", bridge.gateway()));
        }
    }
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Bridge;

    #[test]
    fn every_bridge_has_addresses_and_every_server_a_name() {
        let plan = Plan {
            name: "lab".to_owned(),
            bridges: ["vmbr0", "vmbr1"]
                .iter()
                .enumerate()
                .map(|(i, name)| Bridge { name: (*name).to_owned(), subnet: format!("10.77.{i}") })
                .collect(),
        };
        let arguments = arguments(&plan, true);
        for expected in [
            "--interface=vmbr0",
            "--dhcp-range=10.77.0.100,10.77.0.199,255.255.255.0,1h",
            "--interface=vmbr1",
            "--dhcp-range=::,constructor:vmbr1,ra-stateless",
            "--dhcp-range=10.77.1.100,10.77.1.199,255.255.255.0,1h",
            "--address=/deb.debian.org/10.77.0.1",
            "--address=/snapshot.debian.org/10.77.0.1",
        ] {
            assert!(arguments.iter().any(|a| a == expected), "{expected}: {arguments:?}");
        }
    }
}
