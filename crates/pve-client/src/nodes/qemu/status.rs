//! `/nodes/{node}/qemu/{vmid}/status`: what a VM does, and making it do something else.

use pve_types::Upid;

use crate::error::Error;
use crate::form::Form;
use crate::guest::GuestStatus;
use crate::nodes::qemu::Qemu;

impl Qemu<'_> {
    /// What the VM does now.
    ///
    /// # Errors
    /// As every call.
    pub async fn status(self) -> Result<GuestStatus, Error> {
        self.node.client.get(&self.path(&["status", "current"]), &Form::new()).await
    }

    async fn act(self, action: &str, form: &Form) -> Result<Upid, Error> {
        self.node.client.post(&self.path(&["status", action]), form).await
    }

    /// Starts it. The task fails when it runs already, or does not exist.
    ///
    /// # Errors
    /// As every call.
    pub async fn start(self, form: &Form) -> Result<Upid, Error> {
        self.act("start", form).await
    }

    /// Stops it as if the power went.
    ///
    /// # Errors
    /// As every call.
    pub async fn stop(self, form: &Form) -> Result<Upid, Error> {
        self.act("stop", form).await
    }

    /// Asks it to shut down.
    ///
    /// # Errors
    /// As every call.
    pub async fn shutdown(self, form: &Form) -> Result<Upid, Error> {
        self.act("shutdown", form).await
    }

    /// Shuts it down and starts it again, with what was pending. The task ends before the start:
    /// look at [`GuestStatus::pid`] for the end.
    ///
    /// # Errors
    /// As every call.
    pub async fn reboot(self, form: &Form) -> Result<Upid, Error> {
        self.act("reboot", form).await
    }

    /// Resets it as if by its button.
    ///
    /// # Errors
    /// As every call.
    pub async fn reset(self) -> Result<Upid, Error> {
        self.act("reset", &Form::new()).await
    }

    /// Pauses it; with `todisk` its memory is written away.
    ///
    /// # Errors
    /// As every call.
    pub async fn suspend(self, form: &Form) -> Result<Upid, Error> {
        self.act("suspend", form).await
    }

    /// Lets a paused VM go on.
    ///
    /// # Errors
    /// As every call.
    pub async fn resume(self) -> Result<Upid, Error> {
        self.act("resume", &Form::new()).await
    }
}
