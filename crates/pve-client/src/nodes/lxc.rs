//! `/nodes/{node}/lxc/{vmid}`: one container.

use pve_types::{Upid, Vmid};
use serde_json::Value;

use crate::error::Error;
use crate::form::Form;
use crate::guest::{GuestConfig, GuestStatus, View};
use crate::nodes::Node;

/// One container on a node.
#[derive(Debug, Clone, Copy)]
pub struct Lxc<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) vmid: Vmid,
}

impl Lxc<'_> {
    fn path(&self, rest: &[&str]) -> String {
        let vmid = self.vmid.to_string();
        let mut segments = vec!["lxc", &vmid];
        segments.extend(rest);
        self.node.path(&segments)
    }

    /// Its configuration.
    ///
    /// # Errors
    /// As every call; [`Error::is_gone`] when there is no such container on this node.
    pub async fn config(self, view: View) -> Result<GuestConfig, Error> {
        let query = match view {
            View::Pending => Form::new(),
            View::Current => Form::new().flag("current", true),
        };
        self.node.client.get(&self.path(&["config"]), &query).await
    }

    /// Changes its configuration; for containers this is never a task.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_config(self, form: &Form) -> Result<(), Error> {
        let _: Value = self.node.client.put(&self.path(&["config"]), form).await?;
        Ok(())
    }

    /// What it does now.
    ///
    /// # Errors
    /// As every call.
    pub async fn status(self) -> Result<GuestStatus, Error> {
        self.node.client.get(&self.path(&["status", "current"]), &Form::new()).await
    }

    /// Its interfaces with their addresses, as PVE gives them; nothing when it does not run. A
    /// node before 8.1 has no such call.
    ///
    /// # Errors
    /// As every call.
    pub async fn interfaces(self) -> Result<Value, Error> {
        self.node.client.get(&self.path(&["interfaces"]), &Form::new()).await
    }

    /// `start`, `stop`, `shutdown` or `reboot`. In the wrong state the call itself is refused,
    /// where a VM's task fails.
    ///
    /// # Errors
    /// As every call.
    pub async fn act(self, action: &str, form: &Form) -> Result<Upid, Error> {
        self.node.client.post(&self.path(&["status", action]), form).await
    }

    /// Removes the container.
    ///
    /// # Errors
    /// As every call.
    pub async fn delete(self, purge: bool, unreferenced: bool) -> Result<Upid, Error> {
        let form =
            Form::new().flag("purge", purge).flag("destroy-unreferenced-disks", unreferenced);
        self.node.client.remove(&self.path(&[]), &form).await
    }
}
