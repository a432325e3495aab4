//! `/nodes/{node}/qemu/{vmid}/agent`: what the guest says about itself.
//!
//! A silent agent costs 3 s per call; ask only a running guest whose agent is configured.

use serde::Deserialize;
use serde_json::Value;

use crate::error::Error;
use crate::form::Form;
use crate::nodes::qemu::Qemu;

/// The agent of one VM.
#[derive(Debug, Clone, Copy)]
pub struct Agent<'a> {
    pub(crate) qemu: Qemu<'a>,
}

/// Some guests are answered for with no data at all.
#[derive(Default, Deserialize)]
struct Reply {
    #[serde(default)]
    result: Value,
}

impl Agent<'_> {
    /// Asks whether it is there.
    ///
    /// # Errors
    /// As every call.
    pub async fn ping(self) -> Result<(), Error> {
        let path = self.qemu.path(&["agent", "ping"]);
        let _: Value = self.qemu.node.client.post(&path, &Form::new()).await?;
        Ok(())
    }

    async fn ask(self, what: &str) -> Result<Value, Error> {
        let path = self.qemu.path(&["agent", what]);
        let reply: Option<Reply> = self.qemu.node.client.get(&path, &Form::new()).await?;
        Ok(reply.unwrap_or_default().result)
    }

    /// The interfaces with their addresses, as the agent gives them.
    ///
    /// # Errors
    /// As every call.
    pub async fn network_interfaces(self) -> Result<Value, Error> {
        self.ask("network-get-interfaces").await
    }

    /// The guest's own host name.
    ///
    /// # Errors
    /// As every call.
    pub async fn host_name(self) -> Result<Value, Error> {
        self.ask("get-host-name").await
    }

    /// The guest's operating system.
    ///
    /// # Errors
    /// As every call.
    pub async fn os_info(self) -> Result<Value, Error> {
        self.ask("get-osinfo").await
    }
}
