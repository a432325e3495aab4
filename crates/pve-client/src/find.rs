//! Which VM is meant: the vmid decides, else the name, which must be unique then.
//!
//! `/cluster/resources` lags by 10 s: a row without a name is asked for its own configuration
//! before anything is decided.

use std::time::Duration;

use pve_types::{NodeName, Vmid};
use thiserror::Error as ThisError;

use crate::classify::Kind;
use crate::client::Client;
use crate::cluster::Resource;
use crate::error::Error;
use crate::guest::{GuestConfig, View};
use crate::pauses::Pauses;

/// Why it cannot be told which VM is meant.
#[derive(Debug, ThisError)]
#[non_exhaustive]
pub enum FindError {
    /// The list cannot be had.
    #[error("failed to list the guests of the cluster")]
    List(#[source] Error),
    /// The number belongs to a container.
    #[error("vmid {vmid} is the container {name}, not a vm")]
    Container {
        /// The number.
        vmid: Vmid,
        /// The container's name.
        name: String,
    },
    /// Several have the name.
    #[error("{} machines are called {name}: {}; give vmid to say which is meant",
            places.len(), places.join(", "))]
    Ambiguous {
        /// The name.
        name: String,
        /// Each one's number and node.
        places: Vec<String>,
    },
    /// None is known to have the name, and some do not say theirs.
    #[error("it cannot be told whether a machine called {name} exists: the cluster does not say \
             the name of {}; give vmid, or try again when its node is there", unread.join(", "))]
    Unknown {
        /// The name.
        name: String,
        /// Those that do not say theirs, and why.
        unread: Vec<String>,
    },
    /// One has the name, and some do not say theirs.
    #[error("it cannot be told whether {place} is the only machine called {name}: the cluster does \
             not say the name of {}; give vmid, or try again when its node is there",
            unread.join(", "))]
    Unsure {
        /// The name.
        name: String,
        /// The number and node of the one that has it.
        place: String,
        /// Those that do not say theirs, and why.
        unread: Vec<String>,
    },
    /// The caller may not see the guest of this number.
    #[error("vmid {vmid} is a guest that {caller} may not see: it lacks VM.Audit on /vms/{vmid}")]
    Hidden {
        /// The number.
        vmid: Vmid,
        /// Who asks.
        caller: String,
    },
    /// The caller may see no guest at all.
    #[error(
        "it cannot be told whether the machine exists: {caller} has VM.Audit nowhere, so PVE \
             lists no machine to it: grant it on /vms; a token with privilege separation needs it \
             for itself as well"
    )]
    Blind {
        /// Who asks.
        caller: String,
    },
    /// The machine of this number has another name.
    #[error("vmid {vmid} is {is}, not {wanted}: nothing was changed; give the right vmid or name")]
    OtherName {
        /// The number.
        vmid: Vmid,
        /// The name it has.
        is: String,
        /// The name it should have.
        wanted: String,
    },
    /// Neither number nor name is given.
    #[error("give vmid or name: one of them says which vm is meant")]
    NotSaid,
}

/// The VMs of a name.
#[derive(Debug, Clone, Default)]
pub struct Named {
    /// Where each is, and its number.
    pub matches: Vec<(NodeName, Vmid)>,
    /// Those that do not say their name, and why.
    pub unread: Vec<String>,
}

impl Named {
    /// The matches for a message, each as `100 on pve1`.
    #[must_use]
    pub fn places(&self) -> Vec<String> {
        self.matches.iter().map(|(node, vmid)| format!("{vmid} on {node}")).collect()
    }

    /// The failure of a name that none is known to have, if some do not say theirs: taking it for
    /// free would be worse than waiting.
    ///
    /// # Errors
    /// That failure.
    pub fn readable(self, name: &str) -> Result<Self, FindError> {
        if self.matches.is_empty() && !self.unread.is_empty() {
            return Err(FindError::Unknown { name: name.to_owned(), unread: self.unread });
        }
        Ok(self)
    }
}

/// Makes sure that the machine of a number is the one of a name, if one is wanted.
///
/// # Errors
/// When it has another name.
pub fn same_name(wanted: Option<&str>, vmid: Vmid, name: &str) -> Result<(), FindError> {
    match wanted {
        Some(wanted) if wanted != name => {
            let is = if name.is_empty() { "a machine without a name" } else { name }.to_owned();
            Err(FindError::OtherName { vmid, is, wanted: wanted.to_owned() })
        }
        _ => Ok(()),
    }
}

impl Client {
    /// Where a VM is and its number, if it is there. While a VM is being made it has no name yet:
    /// that is waited out for as long as `patience`. What cannot be taken back needs `alone`: a name
    /// that is known to be no other machine's either, though its node be off the network.
    ///
    /// # Errors
    /// When it cannot be told which VM is meant.
    pub async fn find_qemu(
        &self,
        vmid: Option<Vmid>,
        name: Option<&str>,
        alone: bool,
        patience: Duration,
    ) -> Result<Option<(NodeName, Vmid)>, FindError> {
        let rows = self.resources(Some("vm")).await.map_err(FindError::List)?;
        self.find_qemu_among(&rows, vmid, name, alone, patience).await
    }

    /// The same among guests that were listed before.
    ///
    /// # Errors
    /// When it cannot be told which VM is meant.
    pub async fn find_qemu_among(
        &self,
        rows: &[Resource],
        vmid: Option<Vmid>,
        name: Option<&str>,
        alone: bool,
        patience: Duration,
    ) -> Result<Option<(NodeName, Vmid)>, FindError> {
        let name = match (vmid, name) {
            (Some(vmid), _) => return by_vmid(vmid, rows),
            (None, Some(name)) => name,
            (None, None) => return Err(FindError::NotSaid),
        };
        let mut named = self.qemu_named(name, rows, patience).await.readable(name)?;
        if named.matches.len() > 1 {
            return Err(FindError::Ambiguous { name: name.to_owned(), places: named.places() });
        }
        if let (true, Some(place), false) = (alone, named.places().pop(), named.unread.is_empty()) {
            let name = name.to_owned();
            return Err(FindError::Unsure { name, place, unread: named.unread });
        }
        Ok(named.matches.pop())
    }

    /// Makes sure that a VM that was not found is not one that the caller may not see. What cannot
    /// be made sure of is told, for a warning.
    ///
    /// # Errors
    /// When it is one, or the caller sees none at all.
    pub async fn not_hidden(&self, vmid: Option<Vmid>) -> Result<Option<String>, FindError> {
        let caller = self.caller();
        if let Some(vmid) = vmid {
            return match self.next_id(Some(vmid)).await {
                Err(error) if matches!(error.kind(), Some(Kind::Exists)) => {
                    Err(FindError::Hidden { vmid, caller })
                }
                _ => Ok(None),
            };
        }
        if self.is_root() {
            return Ok(None);
        }
        let Ok(granted) = self.permissions(None).await else { return Ok(None) };
        let mut seen = granted.paths("VM.Audit").peekable();
        if seen.peek().is_none() {
            return Err(FindError::Blind { caller });
        }
        let all = seen.any(|(path, below)| below && matches!(path, "/" | "/vms"));
        Ok((!all).then(|| {
            format!("only machines that {caller} may see were looked at: it lacks VM.Audit on /vms")
        }))
    }

    /// The VMs of a name among guests that were listed before.
    pub async fn qemu_named(&self, name: &str, rows: &[Resource], patience: Duration) -> Named {
        let mut named = Named::default();
        for row in rows.iter().filter(|row| row.kind == "qemu") {
            let (Some(vmid), Some(node)) = (row.vmid, row.node.clone()) else { continue };
            match &row.name {
                Some(its) if its == name => named.matches.push((node, vmid)),
                Some(_) => {}
                None => match self.made_config(&node, vmid, patience).await {
                    Ok(config) if config.name() == Some(name) => named.matches.push((node, vmid)),
                    Ok(_) => {}
                    // removed since the list was made
                    Err(error) if error.is_gone() => {}
                    Err(error) => named.unread.push(format!("vm {vmid} on {node} ({error})")),
                },
            }
        }
        named
    }

    /// The configuration of a machine whose row says nothing yet.
    async fn made_config(
        &self,
        node: &NodeName,
        vmid: Vmid,
        patience: Duration,
    ) -> Result<GuestConfig, Error> {
        let mut pauses = Pauses::new(patience);
        loop {
            let config = self.node(node).qemu(vmid).config(View::Current).await?;
            let making =
                config.name().is_none() && matches!(config.get("lock"), Some("create" | "clone"));
            if !making || !pauses.pause().await {
                return Ok(config);
            }
        }
    }
}

fn by_vmid(vmid: Vmid, rows: &[Resource]) -> Result<Option<(NodeName, Vmid)>, FindError> {
    let Some(row) = rows.iter().find(|row| row.vmid == Some(vmid)) else { return Ok(None) };
    if row.kind == "lxc" {
        let name = row.name.clone().unwrap_or_else(|| "without a name yet".to_owned());
        return Err(FindError::Container { vmid, name });
    }
    Ok(row.node.clone().map(|node| (node, vmid)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b11_another_name_is_another_machine() {
        let vmid = "104".parse().unwrap();
        for (wanted, name, text) in [
            (Some("web"), "db", "vmid 104 is db, not web: nothing was changed"),
            (Some("web"), "", "vmid 104 is a machine without a name, not web"),
            (Some("db"), "db", ""),
            (None, "db", ""),
        ] {
            let said = same_name(wanted, vmid, name).err().map(|e| e.to_string());
            let said = said.unwrap_or_default();
            assert!(said.starts_with(text) && said.is_empty() == text.is_empty(), "{said}");
        }
    }
}
