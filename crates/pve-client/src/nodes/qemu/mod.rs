//! `/nodes/{node}/qemu/{vmid}`: one VM.

pub(crate) mod agent;
mod snapshot;
mod status;

use pve_types::{NodeName, Upid, Vmid};
use serde_json::Value;

use crate::error::Error;
use crate::form::Form;
use crate::guest::{GuestConfig, PendingItem, View};
use crate::nodes::Node;
use crate::nodes::qemu::agent::Agent;

/// One VM on a node.
#[derive(Debug, Clone, Copy)]
pub struct Qemu<'a> {
    pub(crate) node: Node<'a>,
    pub(crate) vmid: Vmid,
}

impl<'a> Qemu<'a> {
    pub(crate) fn path(&self, rest: &[&str]) -> String {
        let vmid = self.vmid.to_string();
        let mut segments = vec!["qemu", &vmid];
        segments.extend(rest);
        self.node.path(&segments)
    }

    /// Its agent.
    #[must_use]
    pub fn agent(self) -> Agent<'a> {
        Agent { qemu: self }
    }

    /// Its configuration.
    ///
    /// # Errors
    /// As every call; [`Error::is_gone`] when there is no such VM on this node.
    pub async fn config(self, view: View) -> Result<GuestConfig, Error> {
        let query = match view {
            View::Pending => Form::new(),
            View::Current => Form::new().flag("current", true),
        };
        self.node.client.get(&self.path(&["config"]), &query).await
    }

    /// The configuration that one of its snapshots holds.
    ///
    /// # Errors
    /// As every call.
    pub async fn config_of_snapshot(self, name: &str) -> Result<GuestConfig, Error> {
        let query = Form::new().text("snapshot", name);
        self.node.client.get(&self.path(&["config"]), &query).await
    }

    /// Changes its configuration and waits for the answer. PVE's proxy gives up after 30 s; what
    /// may take longer (disks) belongs into [`Qemu::set_config_async`].
    ///
    /// # Errors
    /// As every call. A refused hot-plug is an error, and yet the change is kept as pending.
    pub async fn set_config(self, form: &Form) -> Result<(), Error> {
        let _: Value = self.node.client.put(&self.path(&["config"]), form).await?;
        Ok(())
    }

    /// Changes its configuration in a task. No task is returned when it was done at once.
    ///
    /// # Errors
    /// As every call.
    pub async fn set_config_async(self, form: &Form) -> Result<Option<Upid>, Error> {
        self.node.client.post(&self.path(&["config"]), form).await
    }

    /// Every option with what waits for the next start.
    ///
    /// # Errors
    /// As every call.
    pub async fn pending(self) -> Result<Vec<PendingItem>, Error> {
        self.node.client.get(&self.path(&["pending"]), &Form::new()).await
    }

    /// Removes the VM; `purge` also takes it out of backup jobs, replication and HA,
    /// `unreferenced` also removes volumes of its number that its configuration does not name.
    ///
    /// # Errors
    /// As every call.
    pub async fn delete(self, purge: bool, unreferenced: bool) -> Result<Upid, Error> {
        let form =
            Form::new().flag("purge", purge).flag("destroy-unreferenced-disks", unreferenced);
        self.node.client.remove(&self.path(&[]), &form).await
    }

    /// Makes a copy with another number.
    ///
    /// # Errors
    /// As every call.
    pub async fn clone_to(self, newid: Vmid, form: Form) -> Result<Upid, Error> {
        let form = form.number("newid", newid.get());
        self.node.client.post(&self.path(&["clone"]), &form).await
    }

    /// Grows a disk; `size` is absolute, or the growth after a `+`.
    ///
    /// # Errors
    /// As every call.
    pub async fn resize(self, disk: &str, size: &str, form: Form) -> Result<Upid, Error> {
        let form = form.text("disk", disk).text("size", size);
        self.node.client.put(&self.path(&["resize"]), &form).await
    }

    /// Moves a disk to another storage or VM.
    ///
    /// # Errors
    /// As every call.
    pub async fn move_disk(self, disk: &str, form: Form) -> Result<Upid, Error> {
        let form = form.text("disk", disk);
        self.node.client.post(&self.path(&["move_disk"]), &form).await
    }

    /// Detaches disks, or removes them from their storage with `force`.
    ///
    /// # Errors
    /// As every call.
    pub async fn unlink(self, disks: &[&str], force: bool) -> Result<(), Error> {
        let form = Form::new().text("idlist", disks.join(",")).flag("force", force);
        let _: Value = self.node.client.put(&self.path(&["unlink"]), &form).await?;
        Ok(())
    }

    /// Turns the VM into a template.
    ///
    /// # Errors
    /// As every call.
    pub async fn template(self) -> Result<Upid, Error> {
        self.node.client.post(&self.path(&["template"]), &Form::new()).await
    }

    /// Moves the VM to another node.
    ///
    /// # Errors
    /// As every call.
    pub async fn migrate(self, target: &NodeName, form: Form) -> Result<Upid, Error> {
        let form = form.text("target", target.as_str());
        self.node.client.post(&self.path(&["migrate"]), &form).await
    }

    /// Writes the cloud-init drive anew from the configuration, pending values included.
    ///
    /// # Errors
    /// As every call.
    pub async fn regenerate_cloudinit(self) -> Result<(), Error> {
        let _: Value = self.node.client.put(&self.path(&["cloudinit"]), &Form::new()).await?;
        Ok(())
    }

    /// One of the documents on the cloud-init drive: `user`, `network` or `meta`.
    ///
    /// # Errors
    /// As every call.
    pub async fn cloudinit_dump(self, document: &str) -> Result<String, Error> {
        let query = Form::new().text("type", document);
        self.node.client.get(&self.path(&["cloudinit", "dump"]), &query).await
    }
}
