//! `/nodes/{node}/qemu/{vmid}/snapshot`: states of a VM to go back to.

use pve_types::Upid;
use serde_json::Value;

use crate::error::Error;
use crate::form::Form;
use crate::guest::{GuestConfig, Snapshot};
use crate::nodes::qemu::Qemu;

impl Qemu<'_> {
    /// The configuration that a snapshot holds.
    ///
    /// # Errors
    /// As every call.
    pub async fn snapshot_config(self, name: &str) -> Result<GuestConfig, Error> {
        let query = Form::new().text("snapshot", name);
        self.node.client.get(&self.path(&["config"]), &query).await
    }

    /// Its snapshots; the running state is among them as `current`.
    ///
    /// # Errors
    /// As every call.
    pub async fn snapshots(self) -> Result<Vec<Snapshot>, Error> {
        self.node.client.get(&self.path(&["snapshot"]), &Form::new()).await
    }

    /// Whether it can have snapshots: every disk must be able to.
    ///
    /// # Errors
    /// As every call.
    pub async fn can_snapshot(self) -> Result<bool, Error> {
        let query = Form::new().text("feature", "snapshot");
        let answer: Value = self.node.client.get(&self.path(&["feature"]), &query).await?;
        let has = &answer["hasFeature"];
        Ok(*has == 1 || *has == true || *has == "1")
    }

    /// Changes what a snapshot is said to be for; an empty text takes it away.
    ///
    /// # Errors
    /// As every call.
    pub async fn describe_snapshot(self, name: &str, description: &str) -> Result<(), Error> {
        let form = Form::new().text("description", description);
        let path = self.path(&["snapshot", name, "config"]);
        let _: Value = self.node.client.put(&path, &form).await?;
        Ok(())
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
