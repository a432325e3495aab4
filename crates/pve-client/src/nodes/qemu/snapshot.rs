//! `/nodes/{node}/qemu/{vmid}/snapshot`: states of a VM to go back to.

use pve_types::Upid;

use crate::error::Error;
use crate::form::Form;
use crate::guest::Snapshot;
use crate::nodes::qemu::Qemu;

impl Qemu<'_> {
    /// Its snapshots; the running state is among them as `current`.
    ///
    /// # Errors
    /// As every call.
    pub async fn snapshots(self) -> Result<Vec<Snapshot>, Error> {
        self.node.client.get(&self.path(&["snapshot"]), &Form::new()).await
    }

    /// Makes a snapshot.
    ///
    /// # Errors
    /// As every call.
    pub async fn create_snapshot(self, name: &str, form: Form) -> Result<Upid, Error> {
        let form = form.text("snapname", name);
        self.node.client.post(&self.path(&["snapshot"]), &form).await
    }

    /// Removes a snapshot.
    ///
    /// # Errors
    /// As every call.
    pub async fn delete_snapshot(self, name: &str, force: bool) -> Result<Upid, Error> {
        let form = Form::new().flag("force", force);
        self.node.client.remove(&self.path(&["snapshot", name]), &form).await
    }

    /// Goes back to a snapshot.
    ///
    /// # Errors
    /// As every call.
    pub async fn rollback(self, name: &str, form: &Form) -> Result<Upid, Error> {
        self.node.client.post(&self.path(&["snapshot", name, "rollback"]), form).await
    }
}
