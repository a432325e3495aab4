//! Asking the installed sshd.

use std::time::Duration;

use ansible_module::Failure;
use managed_node::{Attributes, Command, Node, Output};

/// The absolute path matters: sshd refuses to start itself again without it.
pub(crate) const PROGRAM: &str = "/usr/sbin/sshd";
/// What sshd needs while it checks a configuration.
const PRIVSEP: &str = "/run/sshd";
const LIMIT: Duration = Duration::from_secs(30);
/// Names from the ranges for documentation, so that they fit nobody's `Match` by chance.
const ORDINARY: &str = "host=client.invalid,addr=192.0.2.1";

/// The user for whom a setting has to be in force: on every machine, and in nobody's `Match`.
pub(crate) const ORDINARY_USER: &str = "nobody";

/// Asks sshd about configurations; a host key is made for the purpose if there is none.
#[derive(Debug)]
pub(crate) struct Sshd<'a> {
    node: &'a Node,
    folder: String,
    key: Option<String>,
}

impl<'a> Sshd<'a> {
    /// Prepares what sshd needs for a check: its folder in `/run`, which is not there while no
    /// sshd runs. Where `/run` is not private, the folder stays on a running system: a sshd that
    /// is being started may already count on it.
    pub(crate) fn new(node: &'a Node, folder: &str) -> Result<Self, Failure> {
        if !node.exists(PRIVSEP) {
            node.make_folder(PRIVSEP, 0o755)?;
        }
        Ok(Self { node, folder: folder.to_owned(), key: None })
    }

    /// Tests a configuration.
    pub(crate) fn test(&mut self, config: &str) -> Result<Output, Failure> {
        let output = self.run("-t", config, None)?;
        if output.success() || self.key.is_some() || !lacks_host_key(&output) {
            return Ok(output);
        }
        let key = format!("{}/key", self.folder);
        let make =
            Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", key.as_str()]);
        self.node.run(&make)?.check(&make)?;
        self.key = Some(key);
        self.run("-t", config, None)
    }

    /// What is in force in a configuration that passed the test: for a connection, or outside of
    /// every `Match`.
    pub(crate) fn dump(&self, config: &str, connection: Option<&str>) -> Result<Output, Failure> {
        self.run("-T", config, connection)
    }

    /// Whether the test needed a host key of our own.
    pub(crate) fn lent_a_key(&self) -> bool {
        self.key.is_some()
    }

    fn run(&self, mode: &str, config: &str, connection: Option<&str>) -> Result<Output, Failure> {
        let mut command = Command::new(PROGRAM).args([mode, "-f", config]).timeout(LIMIT);
        if let Some(key) = &self.key {
            command = command.args(["-h", key.as_str()]);
        }
        if let Some(connection) = connection {
            command = command.args(["-C", connection]);
        }
        Ok(self.node.run(&command)?)
    }
}

fn lacks_host_key(output: &Output) -> bool {
    output.stderr.contains("no hostkeys available")
}

/// The connection of a user, as `-C` takes it.
pub(crate) fn connection_of(user: &str) -> String {
    format!("user={user},{ORDINARY}")
}

/// Writes a file of the staging copy; host names and key paths in it are no secret, but it is
/// nobody else's business either.
pub(crate) fn stage(node: &Node, path: &str, text: &str) -> Result<(), Failure> {
    let attributes = Attributes { mode: Some(0o600), owner: None };
    Ok(node.replace(path, text.as_bytes(), attributes)?)
}
