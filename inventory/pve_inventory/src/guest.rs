//! What is known about a guest.

use std::collections::BTreeMap;
use std::net::IpAddr;

use pve_client::{GuestConfig, Resource};
use pve_types::address::{
    Address, Explanation, Known, Policy, Reason, ReasonKind, Report, Source, explain,
};
use pve_types::property::Smbios;
use pve_types::{GuestKind, NodeName, Vmid};

/// Which cluster, by its place in the configuration, and the guest's number there.
pub(crate) type Key = (usize, u32);

/// One guest of the cluster, as far as it could be read.
#[derive(Debug, Clone)]
pub(crate) struct Guest {
    /// Which cluster it is in.
    pub(crate) cluster: usize,
    pub(crate) kind: GuestKind,
    pub(crate) vmid: Vmid,
    pub(crate) node: NodeName,
    pub(crate) name: Option<String>,
    pub(crate) status: String,
    pub(crate) pool: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) template: bool,
    /// The rules of high availability that it is in, or its group on PVE 8.
    pub(crate) ha: Vec<String>,
    /// The configuration it runs with, or why it could not be read.
    pub(crate) config: Result<GuestConfig, Reason>,
    /// What it says about its interfaces, or why it says nothing.
    pub(crate) report: Result<Report, Reason>,
    pub(crate) address: Result<Address, Reason>,
}

impl Guest {
    /// What tells it from every other guest.
    pub(crate) fn key(&self) -> Key {
        (self.cluster, self.vmid.get())
    }

    /// The user that cloud-init makes, if it can be one.
    pub(crate) fn cloud_init_user(&self) -> Option<&str> {
        let user = self.config.as_ref().ok()?.get("ciuser")?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.@+".contains(c);
        (!user.is_empty() && !user.starts_with('-') && user.chars().all(plain)).then_some(user)
    }

    /// The domain that its configuration has.
    pub(crate) fn domain(&self) -> Option<&str> {
        self.config
            .as_ref()
            .ok()?
            .get("searchdomain")?
            .split([' ', ',', ';'])
            .find(|d| !d.is_empty())
    }

    /// Its address, and how that came about; the latter only if its configuration is known.
    pub(crate) fn find_address(
        &self,
        policy: &Policy,
    ) -> (Result<Address, Reason>, Option<Explanation>) {
        match &self.config {
            Ok(config) => {
                let report = self.report.as_ref();
                let known = Known { kind: self.kind, config: config.as_map(), report };
                let (address, explanation) = explain(known, policy);
                (address, Some(explanation))
            }
            Err(reason) => (Err(reason.clone()), None),
        }
    }

    /// The operating system's type, as its configuration has it.
    pub(crate) fn ostype(&self) -> Option<&str> {
        self.config.as_ref().ok()?.get("ostype")
    }

    /// What its ssh host keys are kept under: they belong to the guest and not to its address.
    pub(crate) fn host_key_alias(&self) -> String {
        let uuid = self
            .config
            .as_ref()
            .ok()
            .and_then(|config| Smbios::new(config.get("smbios1")?).uuid())
            .filter(|uuid| {
                !uuid.is_empty() && uuid.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
            });
        match uuid {
            Some(uuid) => format!("pve-{uuid}"),
            None => format!("pve-{}-{}", self.kind, self.vmid),
        }
    }

    /// Why it has no address, or one that is only configured.
    pub(crate) fn reason(&self) -> Option<&Reason> {
        match &self.address {
            Ok(address) => address.unobserved.as_ref(),
            Err(reason) => Some(reason),
        }
    }
}

/// Takes configured addresses away that another guest of the cluster has as well: a clone keeps the
/// settings of what it was made from, and at the address the other one would answer. One that runs
/// keeps its address against those that do not, which cannot answer.
pub(crate) fn apart(guests: &mut [Guest]) {
    // by cluster and address: who has it, whether it was observed there, whether it runs
    type Holders = BTreeMap<(usize, IpAddr), Vec<(Vmid, bool, bool)>>;
    let mut holders = Holders::new();
    for guest in guests.iter() {
        if let Ok(address) = &guest.address {
            let observed = address.source != Source::Configured;
            let holder = (guest.vmid, observed, guest.status == "running");
            holders.entry((guest.cluster, address.ip)).or_default().push(holder);
        }
    }
    for guest in guests {
        let Ok(Address { ip, source: Source::Configured, unobserved }) = &guest.address else {
            continue;
        };
        let runs = guest.status == "running";
        let other = holders.get(&(guest.cluster, *ip)).into_iter().flatten().find(
            |(vmid, observed, running)| *vmid != guest.vmid && (*observed || *running || !runs),
        );
        if let Some((vmid, ..)) = other {
            let why = unobserved.as_ref().map(|reason| reason.text.as_str()).unwrap_or_default();
            let text = format!("guest {vmid} has the address {ip} as well, and {why}");
            guest.address = Err(Reason::new(ReasonKind::Ambiguous, text));
        }
    }
}

/// A row of the cluster's list that is a guest.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    pub(crate) kind: GuestKind,
    pub(crate) vmid: Vmid,
    pub(crate) node: NodeName,
    pub(crate) resource: Resource,
}

impl Row {
    pub(crate) fn new(resource: Resource) -> Option<Self> {
        let kind = resource.kind.parse().ok()?;
        let (vmid, node) = (resource.vmid?, resource.node.clone()?);
        Some(Self { kind, vmid, node, resource })
    }

    pub(crate) fn is_running(&self) -> bool {
        self.resource.status == "running"
    }
}

/// A guest's tags: versions and settings differ in what stands between them.
pub(crate) fn tags(text: &str) -> Vec<String> {
    let mut tags: Vec<String> = text
        .split(|c: char| c == ';' || c == ',' || c.is_whitespace())
        .filter(|tag| !tag.is_empty())
        .map(str::to_owned)
        .collect();
    tags.sort();
    tags.dedup();
    tags
}

#[cfg(test)]
pub(crate) mod fixtures {
    use super::*;

    /// A stopped VM; without a name when it is empty.
    pub(crate) fn guest(vmid: u32, name: &str) -> Guest {
        let reason = Reason::new(ReasonKind::NotRunning, "the guest does not run");
        Guest {
            cluster: 0,
            kind: GuestKind::Qemu,
            vmid: Vmid::new(vmid).unwrap(),
            node: "pve1".parse().unwrap(),
            name: (!name.is_empty()).then(|| name.to_owned()),
            status: "stopped".to_owned(),
            pool: None,
            tags: Vec::new(),
            template: false,
            ha: Vec::new(),
            config: Ok(GuestConfig::default()),
            report: Err(reason.clone()),
            address: Err(reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a14_a_configured_address_that_two_guests_have_is_of_neither() {
        for (first, second, kept) in [
            // how each is known and whether it runs; which of them keep their address
            (("agent", true), ("configured", false), [true, false]),
            (("agent", true), ("configured", true), [true, false]),
            (("configured", true), ("configured", false), [true, false]),
            (("configured", true), ("configured", true), [false, false]),
            (("configured", false), ("configured", false), [false, false]),
            (("agent", true), ("agent", true), [true, true]),
        ] {
            let guest = |vmid, (source, runs): (&str, bool)| {
                let mut guest = fixtures::guest(vmid, "web");
                let unobserved = guest.reason().cloned();
                let ip = "10.0.0.7".parse().unwrap();
                guest.status = if runs { "running" } else { "stopped" }.to_owned();
                guest.address = Ok(match source {
                    "agent" => Address { ip, source: Source::Agent, unobserved: None },
                    _ => Address { ip, source: Source::Configured, unobserved },
                });
                guest
            };
            let mut guests = [guest(100, first), guest(101, second)];
            apart(&mut guests);
            let has: Vec<bool> = guests.iter().map(|guest| guest.address.is_ok()).collect();
            assert_eq!(has, kept, "{first:?} {second:?}");
            if !kept[1] {
                let reason = guests[1].reason().unwrap();
                assert_eq!(reason.kind, ReasonKind::Ambiguous);
                let text = "guest 100 has the address 10.0.0.7 as well, and the guest does not run";
                assert_eq!(reason.text, text);
            }
            // another cluster's networks are its own
            let mut guests = [guest(100, first), guest(101, second)];
            guests[1].cluster = 1;
            apart(&mut guests);
            assert!(guests.iter().all(|guest| guest.address.is_ok()));
        }
    }

    #[test]
    fn a33_tags_are_a_list_whatever_stands_between_them() {
        for (text, list) in [
            ("prod;web", &["prod", "web"][..]),
            ("prod,web", &["prod", "web"]),
            (" prod ; web ", &["prod", "web"]),
            ("web prod;web", &["prod", "web"]),
            ("", &[]),
            (" ", &[]),
        ] {
            assert_eq!(tags(text), list, "{text}");
        }
    }
}
