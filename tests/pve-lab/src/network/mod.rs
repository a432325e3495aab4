//! The lab's network: bridges in a network namespace of their own, DHCP, router advertisements and
//! names on them, and one end of a cable in the host for whoever drives the lab.
//!
//! The bridges are not in the host's namespace because there packets would be forwarded to the
//! outside and Docker's rules would apply to them: nothing of a guest leaves the lab.

mod dnsmasq;
mod plan;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Child;

use anyhow::{Context, Result};
use nix::sched::{CloneFlags, setns};

use crate::guests::cgroup::Cgroup;
use crate::guests::host;
use crate::image::cache;
pub(crate) use dnsmasq::DOMAIN;
pub use plan::{Bridge, Plan, Pool};

/// A network that stands.
#[derive(Debug)]
pub struct Network {
    plan: Plan,
    infra: Cgroup,
    dnsmasq: Option<Child>,
}

/// Interfaces of a lab in the host's namespace are called after the lab.
fn host_end(name: &str, index: usize) -> String {
    format!("{name}n{index}")
}

impl Network {
    /// Makes the network called `name`, or takes the one that stands if it has these bridges.
    ///
    /// The name is that of the namespace, at most 11 characters long. `state` gets `network.json`
    /// and the leases; `first` is the third number of the first subnet to try.
    pub(crate) fn up(
        name: &str,
        bridges: &[String],
        first: Pool,
        group: &Cgroup,
        state: &Path,
    ) -> Result<Self> {
        fs::create_dir_all(state).with_context(|| format!("cannot make {}", state.display()))?;
        let file = state.join("network.json");
        let infra = group.child("infra");
        let standing = Plan::read(&file).filter(|plan| {
            plan.name == name && plan.names().eq(bridges) && namespace(name).exists()
        });
        let plan = match standing {
            Some(plan) => plan,
            None => {
                // Guests that are left would hang on bridges that are no more.
                group.remove()?;
                remove(name)?;
                // Two labs that start at once must not choose the same subnet.
                let _lock = cache::lock("network")?;
                let plan = Plan::choose(name, bridges, first, &taken()?)?;
                if let Err(e) = build(&plan) {
                    let _ = remove(name);
                    return Err(e);
                }
                plan.write(&file)?;
                plan
            }
        };
        infra.create()?;
        let dnsmasq = dnsmasq::start(&plan, &infra, state)?;
        Ok(Self { plan, infra, dnsmasq: Some(dnsmasq) })
    }

    /// The network's names and addresses.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Removes the network.
    pub fn down(&mut self) -> Result<()> {
        self.infra.remove()?;
        if let Some(mut child) = self.dnsmasq.take() {
            let _ = child.wait();
        }
        remove(&self.plan.name)
    }
}

/// Where `ip netns` keeps a namespace.
pub(crate) fn namespace(name: &str) -> PathBuf {
    Path::new("/run/netns").join(name)
}

/// Runs something on a thread that is in the network's namespace: a socket stays in the namespace
/// that it was made in.
pub(crate) fn inside<T: Send>(name: &str, work: impl FnOnce() -> Result<T> + Send) -> Result<T> {
    let path = namespace(name);
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                let file = fs::File::open(&path)
                    .with_context(|| format!("cannot open {}", path.display()))?;
                setns(&file, CloneFlags::CLONE_NEWNET)
                    .with_context(|| format!("cannot enter {}", path.display()))?;
                work()
            })
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("a thread in {} broke", path.display())))
    })
}

/// Removes a network by its name, whatever is left of it.
pub(crate) fn remove(name: &str) -> Result<()> {
    if namespace(name).exists() {
        // With the namespace go the bridges and, as their peers, the host's ends.
        host::run("ip", ["netns", "del", name])?;
    }
    // The namespace of a killed guest is taken apart in the background, its cables last.
    for index in 0..8 {
        let end = host_end(name, index);
        if Path::new("/sys/class/net").join(&end).exists() {
            let (_, _, stderr) = host::output(host::command("ip").args(["link", "del", &end]))?;
            if Path::new("/sys/class/net").join(&end).exists() {
                anyhow::bail!("cannot remove the interface {end}: {}", stderr.trim());
            }
        }
    }
    Ok(())
}

/// Addresses and routes of the host, which a new subnet must not meet.
fn taken() -> Result<Vec<ipv4::Net>> {
    let mut nets = Vec::new();
    for args in [["-j", "-4", "route", "show"], ["-j", "-4", "addr", "show"]] {
        let text = host::run("ip", args)?;
        let rows: serde_json::Value =
            serde_json::from_str(text.trim()).context("cannot read what ip says")?;
        ipv4::collect(&rows, &mut nets);
    }
    Ok(nets)
}

/// Whether the kernel speaks IPv6; it can be told not to when it boots.
pub(crate) fn has_ipv6() -> bool {
    Path::new("/proc/sys/net/ipv6").exists()
}

fn build(plan: &Plan) -> Result<()> {
    let ns = plan.name.as_str();
    host::run("ip", ["netns", "add", ns])?;
    host::run("ip", ["-n", ns, "link", "set", "lo", "up"])?;
    inside(ns, || {
        // A new namespace inherits these from the host, and Docker turns them on there.
        for key in ["ipv4/ip_forward", "bridge/bridge-nf-call-iptables"] {
            let path = Path::new("/proc/sys/net").join(key);
            if path.exists() {
                fs::write(&path, "0").with_context(|| format!("cannot set {}", path.display()))?;
            }
        }
        Ok(())
    })?;
    for (index, bridge) in plan.bridges.iter().enumerate() {
        let name = bridge.name.as_str();
        let end = host_end(ns, index);
        let inner = format!("host{index}");
        let ip = |args: &[&str]| host::run("ip", args);
        // Without an address of its own a bridge takes the lowest of its ports', and changes it
        // when guests come and go, under the connections of all others.
        ip(&["-n", ns, "link", "add", name, "address", &bridge.mac(), "type", "bridge"])?;
        ip(&["-n", ns, "addr", "add", &format!("{}/24", bridge.gateway()), "dev", name])?;
        if has_ipv6() {
            let address = format!("{}/64", bridge.gateway6());
            ip(&["-n", ns, "addr", "add", &address, "dev", name, "nodad"])?;
        }
        ip(&["-n", ns, "link", "set", name, "up"])?;
        ip(&["link", "add", &end, "type", "veth", "peer", "name", &inner, "netns", ns])?;
        ip(&["-n", ns, "link", "set", &inner, "master", name, "up"])?;
        // The lab's router advertisements are for guests; the host would take a route from them.
        let ipv6 = format!("/proc/sys/net/ipv6/conf/{end}/disable_ipv6");
        if Path::new(&ipv6).exists() {
            fs::write(&ipv6, "1").with_context(|| format!("cannot set {ipv6}"))?;
        }
        ip(&["addr", "add", &format!("{}/24", bridge.controller()), "dev", &end])?;
        ip(&["link", "set", &end, "up"])?;
    }
    Ok(())
}

/// The little that choosing a free subnet needs to know of IPv4.
mod ipv4 {
    use std::net::Ipv4Addr;

    /// A network: its address and the number of its leading bits.
    pub(super) type Net = (Ipv4Addr, u32);

    /// Reads the networks out of `ip -j`'s answers, of routes and of addresses.
    pub(super) fn collect(rows: &serde_json::Value, nets: &mut Vec<Net>) {
        for row in rows.as_array().into_iter().flatten() {
            if let Some(destination) = row["dst"].as_str() {
                nets.extend(parse(destination));
            }
            for address in row["addr_info"].as_array().into_iter().flatten() {
                if let (Some(local), Some(bits)) =
                    (address["local"].as_str(), address["prefixlen"].as_u64())
                {
                    nets.extend(parse(&format!("{local}/{bits}")));
                }
            }
        }
    }

    fn parse(text: &str) -> Option<Net> {
        let (address, bits) = text.split_once('/').unwrap_or((text, "32"));
        // `default` is not an address: every network would meet it.
        Some((address.parse().ok()?, bits.parse().ok()?))
    }
}
