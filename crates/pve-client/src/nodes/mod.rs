//! `/nodes`: the hosts of the cluster, each with its guests, storages and tasks.

pub(crate) mod lxc;
pub(crate) mod qemu;
pub(crate) mod storage;
pub(crate) mod tasks;

use pve_types::{NodeName, Upid, Vmid};
use serde::Deserialize;

use crate::client::Client;
use crate::error::Error;
use crate::form::{Form, path};
use crate::nodes::lxc::Lxc;
use crate::nodes::qemu::Qemu;

/// A node in the cluster's list.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NodeRow {
    /// Its name.
    pub node: NodeName,
    /// `online`, `offline` or `unknown`.
    #[serde(default)]
    pub status: String,
}

/// A network of a node.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct NetworkRow {
    /// Its name, for example `vmbr0`.
    pub iface: String,
    /// `bridge`, `bond`, `eth`, ...
    #[serde(rename = "type", default)]
    pub kind: String,
}

/// One node.
#[derive(Debug, Clone, Copy)]
pub struct Node<'a> {
    pub(crate) client: &'a Client,
    pub(crate) name: &'a NodeName,
}

impl Client {
    /// The nodes of the cluster.
    ///
    /// # Errors
    /// As every call.
    pub async fn nodes(&self) -> Result<Vec<NodeRow>, Error> {
        self.get("/nodes", &Form::new()).await
    }

    /// A node, by its name.
    #[must_use]
    pub fn node<'a>(&'a self, name: &'a NodeName) -> Node<'a> {
        Node { client: self, name }
    }
}

impl<'a> Node<'a> {
    /// The path of something on this node.
    pub(crate) fn path(&self, rest: &[&str]) -> String {
        let mut segments = vec!["nodes", self.name.as_str()];
        segments.extend(rest);
        path(&segments)
    }

    /// A VM on this node.
    #[must_use]
    pub fn qemu(self, vmid: Vmid) -> Qemu<'a> {
        Qemu { node: self, vmid }
    }

    /// A container on this node.
    #[must_use]
    pub fn lxc(self, vmid: Vmid) -> Lxc<'a> {
        Lxc { node: self, vmid }
    }

    /// The networks of this node, bridges among them.
    ///
    /// # Errors
    /// As every call.
    pub async fn networks(self) -> Result<Vec<NetworkRow>, Error> {
        self.client.get(&self.path(&["network"]), &Form::new()).await
    }

    /// Creates a VM; the task is to be waited for.
    ///
    /// # Errors
    /// As every call.
    pub async fn create_qemu(self, vmid: Vmid, form: Form) -> Result<Upid, Error> {
        let form = form.number("vmid", vmid.get());
        self.client.post(&self.path(&["qemu"]), &form).await
    }

    /// Creates a container; the task is to be waited for.
    ///
    /// # Errors
    /// As every call.
    pub async fn create_lxc(self, vmid: Vmid, form: Form) -> Result<Upid, Error> {
        let form = form.number("vmid", vmid.get());
        self.client.post(&self.path(&["lxc"]), &form).await
    }
}
